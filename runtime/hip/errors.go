package hip

import "fmt"

// Error is hipError_t. It is an error; Success as an error is never returned by the Go API.
type Error int32

// Result codes (hip_runtime_api.h).
const (
	Success                        Error = 0
	ErrInvalidValue                Error = 1
	ErrOutOfMemory                 Error = 2
	ErrNotInitialized              Error = 3
	ErrDeinitialized               Error = 4
	ErrProfilerDisabled            Error = 5
	ErrProfilerNotInitialized      Error = 6
	ErrProfilerAlreadyStarted      Error = 7
	ErrProfilerAlreadyStopped      Error = 8
	ErrInvalidConfiguration        Error = 9
	ErrInvalidPitchValue           Error = 12
	ErrInvalidSymbol               Error = 13
	ErrInvalidDevicePointer        Error = 17
	ErrInvalidMemcpyDirection      Error = 21
	ErrInsufficientDriver          Error = 35
	ErrMissingConfiguration        Error = 52
	ErrPriorLaunchFailure          Error = 53
	ErrInvalidDeviceFunction       Error = 98
	ErrNoDevice                    Error = 100
	ErrInvalidDevice               Error = 101
	ErrInvalidImage                Error = 200
	ErrInvalidContext              Error = 201
	ErrContextAlreadyCurrent       Error = 202
	ErrMapFailed                   Error = 205
	ErrUnmapFailed                 Error = 206
	ErrArrayIsMapped               Error = 207
	ErrAlreadyMapped               Error = 208
	ErrNoBinaryForGpu              Error = 209
	ErrAlreadyAcquired             Error = 210
	ErrNotMapped                   Error = 211
	ErrNotMappedAsArray            Error = 212
	ErrNotMappedAsPointer          Error = 213
	ErrECCNotCorrectable           Error = 214
	ErrUnsupportedLimit            Error = 215
	ErrContextAlreadyInUse         Error = 216
	ErrPeerAccessUnsupported       Error = 217
	ErrInvalidKernelFile           Error = 218
	ErrInvalidGraphicsContext      Error = 219
	ErrInvalidSource               Error = 300
	ErrFileNotFound                Error = 301
	ErrSharedObjectSymbolNotFound  Error = 302
	ErrSharedObjectInitFailed      Error = 303
	ErrOperatingSystem             Error = 304
	ErrInvalidHandle               Error = 400
	ErrIllegalState                Error = 401
	ErrNotFound                    Error = 500
	ErrNotReady                    Error = 600
	ErrIllegalAddress              Error = 700
	ErrLaunchOutOfResources        Error = 701
	ErrLaunchTimeOut               Error = 702
	ErrPeerAccessAlreadyEnabled    Error = 704
	ErrPeerAccessNotEnabled        Error = 705
	ErrSetOnActiveProcess          Error = 708
	ErrContextIsDestroyed          Error = 709
	ErrAssert                      Error = 710
	ErrHostMemoryAlreadyRegistered Error = 712
	ErrHostMemoryNotRegistered     Error = 713
	ErrLaunchFailure               Error = 719
	ErrCooperativeLaunchTooLarge   Error = 720
	ErrNotSupported                Error = 801
	ErrStreamCaptureUnsupported    Error = 900
	ErrStreamCaptureInvalidated    Error = 901
	ErrStreamCaptureMerge          Error = 902
	ErrStreamCaptureUnmatched      Error = 903
	ErrStreamCaptureUnjoined       Error = 904
	ErrStreamCaptureIsolation      Error = 905
	ErrStreamCaptureImplicit       Error = 906
	ErrCapturedEvent               Error = 907
	ErrStreamCaptureWrongThread    Error = 908
	ErrGraphExecUpdateFailure      Error = 910
	ErrUnknown                     Error = 999
	ErrRuntimeMemory               Error = 1052
	ErrRuntimeOther                Error = 1053
	ErrTbd                         Error = 1054
)

// errorTexts are the name, and the description that hipGetErrorString gives from HIP 6 on; before it gave the name.
var errorTexts = map[Error][2]string{
	Success:                        {"hipSuccess", "no error"},
	ErrInvalidValue:                {"hipErrorInvalidValue", "invalid argument"},
	ErrOutOfMemory:                 {"hipErrorOutOfMemory", "out of memory"},
	ErrNotInitialized:              {"hipErrorNotInitialized", "initialization error"},
	ErrDeinitialized:               {"hipErrorDeinitialized", "driver shutting down"},
	ErrProfilerDisabled:            {"hipErrorProfilerDisabled", "profiler disabled while using external profiling tool"},
	ErrProfilerNotInitialized:      {"hipErrorProfilerNotInitialized", "profiler is not initialized"},
	ErrProfilerAlreadyStarted:      {"hipErrorProfilerAlreadyStarted", "profiler already started"},
	ErrProfilerAlreadyStopped:      {"hipErrorProfilerAlreadyStopped", "profiler already stopped"},
	ErrInvalidConfiguration:        {"hipErrorInvalidConfiguration", "invalid configuration argument"},
	ErrInvalidPitchValue:           {"hipErrorInvalidPitchValue", "invalid pitch argument"},
	ErrInvalidSymbol:               {"hipErrorInvalidSymbol", "invalid device symbol"},
	ErrInvalidDevicePointer:        {"hipErrorInvalidDevicePointer", "invalid device pointer"},
	ErrInvalidMemcpyDirection:      {"hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
	ErrInsufficientDriver:          {"hipErrorInsufficientDriver", "driver version is insufficient for runtime version"},
	ErrMissingConfiguration:        {"hipErrorMissingConfiguration", "__global__ function call is not configured"},
	ErrPriorLaunchFailure:          {"hipErrorPriorLaunchFailure", "unspecified launch failure in prior launch"},
	ErrInvalidDeviceFunction:       {"hipErrorInvalidDeviceFunction", "invalid device function"},
	ErrNoDevice:                    {"hipErrorNoDevice", "no ROCm-capable device is detected"},
	ErrInvalidDevice:               {"hipErrorInvalidDevice", "invalid device ordinal"},
	ErrInvalidImage:                {"hipErrorInvalidImage", "device kernel image is invalid"},
	ErrInvalidContext:              {"hipErrorInvalidContext", "invalid device context"},
	ErrContextAlreadyCurrent:       {"hipErrorContextAlreadyCurrent", "context is already current context"},
	ErrMapFailed:                   {"hipErrorMapFailed", "mapping of buffer object failed"},
	ErrUnmapFailed:                 {"hipErrorUnmapFailed", "unmapping of buffer object failed"},
	ErrArrayIsMapped:               {"hipErrorArrayIsMapped", "array is mapped"},
	ErrAlreadyMapped:               {"hipErrorAlreadyMapped", "resource already mapped"},
	ErrNoBinaryForGpu:              {"hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
	ErrAlreadyAcquired:             {"hipErrorAlreadyAcquired", "resource already acquired"},
	ErrNotMapped:                   {"hipErrorNotMapped", "resource not mapped"},
	ErrNotMappedAsArray:            {"hipErrorNotMappedAsArray", "resource not mapped as array"},
	ErrNotMappedAsPointer:          {"hipErrorNotMappedAsPointer", "resource not mapped as pointer"},
	ErrECCNotCorrectable:           {"hipErrorECCNotCorrectable", "uncorrectable ECC error encountered"},
	ErrUnsupportedLimit:            {"hipErrorUnsupportedLimit", "limit is not supported on this architecture"},
	ErrContextAlreadyInUse:         {"hipErrorContextAlreadyInUse", "exclusive-thread device already in use by a different thread"},
	ErrPeerAccessUnsupported:       {"hipErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
	ErrInvalidKernelFile:           {"hipErrorInvalidKernelFile", "invalid kernel file"},
	ErrInvalidGraphicsContext:      {"hipErrorInvalidGraphicsContext", "invalid OpenGL or DirectX context"},
	ErrInvalidSource:               {"hipErrorInvalidSource", "device kernel image is invalid"},
	ErrFileNotFound:                {"hipErrorFileNotFound", "file not found"},
	ErrSharedObjectSymbolNotFound:  {"hipErrorSharedObjectSymbolNotFound", "shared object symbol not found"},
	ErrSharedObjectInitFailed:      {"hipErrorSharedObjectInitFailed", "shared object initialization failed"},
	ErrOperatingSystem:             {"hipErrorOperatingSystem", "OS call failed or operation not supported on this OS"},
	ErrInvalidHandle:               {"hipErrorInvalidHandle", "invalid resource handle"},
	ErrIllegalState:                {"hipErrorIllegalState", "the operation cannot be performed in the present state"},
	ErrNotFound:                    {"hipErrorNotFound", "named symbol not found"},
	ErrNotReady:                    {"hipErrorNotReady", "device not ready"},
	ErrIllegalAddress:              {"hipErrorIllegalAddress", "an illegal memory access was encountered"},
	ErrLaunchOutOfResources:        {"hipErrorLaunchOutOfResources", "too many resources requested for launch"},
	ErrLaunchTimeOut:               {"hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
	ErrPeerAccessAlreadyEnabled:    {"hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
	ErrPeerAccessNotEnabled:        {"hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
	ErrSetOnActiveProcess:          {"hipErrorSetOnActiveProcess", "cannot set while device is active in this process"},
	ErrContextIsDestroyed:          {"hipErrorContextIsDestroyed", "context is destroyed"},
	ErrAssert:                      {"hipErrorAssert", "device-side assert triggered"},
	ErrHostMemoryAlreadyRegistered: {"hipErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"},
	ErrHostMemoryNotRegistered:     {"hipErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
	ErrLaunchFailure:               {"hipErrorLaunchFailure", "unspecified launch failure"},
	ErrCooperativeLaunchTooLarge:   {"hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
	ErrNotSupported:                {"hipErrorNotSupported", "operation not supported"},
	ErrStreamCaptureUnsupported:    {"hipErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
	ErrStreamCaptureInvalidated:    {"hipErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
	ErrStreamCaptureMerge:          {"hipErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"},
	ErrStreamCaptureUnmatched:      {"hipErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
	ErrStreamCaptureUnjoined:       {"hipErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
	ErrStreamCaptureIsolation:      {"hipErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
	ErrStreamCaptureImplicit:       {"hipErrorStreamCaptureImplicit", "operation would make the legacy stream depend on a capturing blocking stream"},
	ErrCapturedEvent:               {"hipErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"},
	ErrStreamCaptureWrongThread:    {"hipErrorStreamCaptureWrongThread", "attempt to terminate a thread-local capture sequence from another thread"},
	ErrGraphExecUpdateFailure:      {"hipErrorGraphExecUpdateFailure", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"},
	ErrUnknown:                     {"hipErrorUnknown", "unknown error"},
	ErrRuntimeMemory:               {"hipErrorRuntimeMemory", "runtime memory call returned error"},
	ErrRuntimeOther:                {"hipErrorRuntimeOther", "runtime call other than memory returned error"},
	ErrTbd:                         {"hipErrorTbd", "TBD"},
}

// Name returns the name of the code in the header; unknown codes are named hipErrorUnknown.
func (e Error) Name() string {
	if t, ok := errorTexts[e]; ok {
		return t[0]
	}
	return errorTexts[ErrUnknown][0]
}

// Text returns the description of the code.
func (e Error) Text() string {
	if t, ok := errorTexts[e]; ok {
		return t[1]
	}
	return errorTexts[ErrUnknown][1]
}

func (e Error) Error() string { return fmt.Sprintf("hip: %s: %s", e.Name(), e.Text()) }
