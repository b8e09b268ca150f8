package hsa

import (
	"errors"
	"fmt"

	"github.com/pumice-gpu/pumice/runtime/hsakmt"
)

// Status is hsa_status_t.
type Status uint32

// Results of HSA and of AMD's extensions.
const (
	StatusSuccess                 Status = 0x0
	StatusInfoBreak               Status = 0x1
	StatusError                   Status = 0x1000
	StatusInvalidArgument         Status = 0x1001
	StatusInvalidQueueCreation    Status = 0x1002
	StatusInvalidAllocation       Status = 0x1003
	StatusInvalidAgent            Status = 0x1004
	StatusInvalidRegion           Status = 0x1005
	StatusInvalidSignal           Status = 0x1006
	StatusInvalidQueue            Status = 0x1007
	StatusOutOfResources          Status = 0x1008
	StatusInvalidPacketFormat     Status = 0x1009
	StatusResourceFree            Status = 0x100a
	StatusNotInitialized          Status = 0x100b
	StatusRefcountOverflow        Status = 0x100c
	StatusIncompatibleArguments   Status = 0x100d
	StatusInvalidIndex            Status = 0x100e
	StatusInvalidISA              Status = 0x100f
	StatusInvalidCodeObject       Status = 0x1010
	StatusInvalidExecutable       Status = 0x1011
	StatusFrozenExecutable        Status = 0x1012
	StatusInvalidSymbolName       Status = 0x1013
	StatusVariableAlreadyDefined  Status = 0x1014
	StatusVariableUndefined       Status = 0x1015
	StatusException               Status = 0x1016
	StatusInvalidISAName          Status = 0x1017
	StatusInvalidCodeSymbol       Status = 0x1018
	StatusInvalidExecutableSymbol Status = 0x1019
	StatusInvalidFile             Status = 0x1020
	StatusInvalidCodeObjectReader Status = 0x1021
	StatusInvalidCache            Status = 0x1022
	StatusInvalidWavefront        Status = 0x1023
	StatusInvalidSignalGroup      Status = 0x1024
	StatusInvalidRuntimeState     Status = 0x1025
	StatusFatal                   Status = 0x1026
	StatusInvalidMemoryPool       Status = 40
	StatusMemoryApertureViolation Status = 41
	StatusIllegalInstruction      Status = 42
	StatusMemoryFault             Status = 43
	StatusCUMaskReduced           Status = 44
	StatusOutOfRegisters          Status = 45
	StatusResourceBusy            Status = 46
	StatusNotSupported            Status = 47

	StatusImageFormatUnsupported       Status = 0x3000
	StatusImageSizeUnsupported         Status = 0x3001
	StatusImagePitchUnsupported        Status = 0x3002
	StatusSamplerDescriptorUnsupported Status = 0x3003
)

var statusText = map[Status][2]string{
	StatusImageFormatUnsupported:       {"HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED", "The format of the image is not supported."},
	StatusImageSizeUnsupported:         {"HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED", "The size of the image is not supported."},
	StatusImagePitchUnsupported:        {"HSA_EXT_STATUS_ERROR_IMAGE_PITCH_UNSUPPORTED", "The pitch of the image is invalid or not supported."},
	StatusSamplerDescriptorUnsupported: {"HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED", "The sampler's descriptor is invalid or not supported."},

	StatusSuccess:                 {"HSA_STATUS_SUCCESS", "The function has been executed successfully."},
	StatusInfoBreak:               {"HSA_STATUS_INFO_BREAK", "A traversal over a list of elements has been interrupted by the application before completing."},
	StatusError:                   {"HSA_STATUS_ERROR", "A generic error has occurred."},
	StatusInvalidArgument:         {"HSA_STATUS_ERROR_INVALID_ARGUMENT", "One of the actual arguments does not meet a precondition stated in the documentation of the corresponding formal argument."},
	StatusInvalidQueueCreation:    {"HSA_STATUS_ERROR_INVALID_QUEUE_CREATION", "The requested queue creation is not valid."},
	StatusInvalidAllocation:       {"HSA_STATUS_ERROR_INVALID_ALLOCATION", "The requested allocation is not valid."},
	StatusInvalidAgent:            {"HSA_STATUS_ERROR_INVALID_AGENT", "The agent is invalid."},
	StatusInvalidRegion:           {"HSA_STATUS_ERROR_INVALID_REGION", "The memory region is invalid."},
	StatusInvalidSignal:           {"HSA_STATUS_ERROR_INVALID_SIGNAL", "The signal is invalid."},
	StatusInvalidQueue:            {"HSA_STATUS_ERROR_INVALID_QUEUE", "The queue is invalid."},
	StatusOutOfResources:          {"HSA_STATUS_ERROR_OUT_OF_RESOURCES", "The runtime failed to allocate the necessary resources. This error may also occur when the core runtime library needs to spawn threads or create internal OS-specific events."},
	StatusInvalidPacketFormat:     {"HSA_STATUS_ERROR_INVALID_PACKET_FORMAT", "The AQL packet is malformed."},
	StatusResourceFree:            {"HSA_STATUS_ERROR_RESOURCE_FREE", "An error has been detected while releasing a resource."},
	StatusNotInitialized:          {"HSA_STATUS_ERROR_NOT_INITIALIZED", "An API other than hsa_init has been invoked while the reference count of the HSA runtime is zero."},
	StatusRefcountOverflow:        {"HSA_STATUS_ERROR_REFCOUNT_OVERFLOW", "The maximum reference count for the object has been reached."},
	StatusIncompatibleArguments:   {"HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS", "The arguments passed to a functions are not compatible."},
	StatusInvalidIndex:            {"HSA_STATUS_ERROR_INVALID_INDEX", "The index is invalid."},
	StatusInvalidISA:              {"HSA_STATUS_ERROR_INVALID_ISA", "The instruction set architecture is invalid."},
	StatusInvalidCodeObject:       {"HSA_STATUS_ERROR_INVALID_CODE_OBJECT", "The code object is invalid."},
	StatusInvalidExecutable:       {"HSA_STATUS_ERROR_INVALID_EXECUTABLE", "The executable is invalid."},
	StatusFrozenExecutable:        {"HSA_STATUS_ERROR_FROZEN_EXECUTABLE", "The executable is frozen."},
	StatusInvalidSymbolName:       {"HSA_STATUS_ERROR_INVALID_SYMBOL_NAME", "There is no symbol with the given name."},
	StatusVariableAlreadyDefined:  {"HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED", "The variable is already defined."},
	StatusVariableUndefined:       {"HSA_STATUS_ERROR_VARIABLE_UNDEFINED", "The variable is undefined."},
	StatusException:               {"HSA_STATUS_ERROR_EXCEPTION", "An HSAIL operation resulted in a hardware exception."},
	StatusInvalidISAName:          {"HSA_STATUS_ERROR_INVALID_ISA_NAME", "The instruction set architecture name is invalid."},
	StatusInvalidCodeSymbol:       {"HSA_STATUS_ERROR_INVALID_CODE_SYMBOL", "The code object symbol is invalid."},
	StatusInvalidExecutableSymbol: {"HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL", "The executable symbol is invalid."},
	StatusInvalidFile:             {"HSA_STATUS_ERROR_INVALID_FILE", "The file descriptor is invalid."},
	StatusInvalidCodeObjectReader: {"HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER", "The code object reader is invalid."},
	StatusInvalidCache:            {"HSA_STATUS_ERROR_INVALID_CACHE", "The cache is invalid."},
	StatusInvalidWavefront:        {"HSA_STATUS_ERROR_INVALID_WAVEFRONT", "The wavefront is invalid."},
	StatusInvalidSignalGroup:      {"HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP", "The signal group is invalid."},
	StatusInvalidRuntimeState:     {"HSA_STATUS_ERROR_INVALID_RUNTIME_STATE", "The HSA runtime is not in the configuration state."},
	StatusFatal:                   {"HSA_STATUS_ERROR_FATAL", "The queue received an error that may require process termination."},
	StatusInvalidMemoryPool:       {"HSA_STATUS_ERROR_INVALID_MEMORY_POOL", "The memory pool is invalid."},
	StatusMemoryApertureViolation: {"HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION", "The agent attempted to access memory beyond the largest legal address."},
	StatusIllegalInstruction:      {"HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", "The agent attempted to execute an illegal shader instruction."},
	StatusMemoryFault:             {"HSA_STATUS_ERROR_MEMORY_FAULT", "Agent attempted to access an inaccessible address."},
	StatusCUMaskReduced:           {"HSA_STATUS_CU_MASK_REDUCED", "The CU mask was successfully set but the mask attempted to enable a CU which was disabled for the process. CUs disabled for the process remain disabled."},
	StatusOutOfRegisters:          {"HSA_STATUS_ERROR_OUT_OF_REGISTERS", "Exceeded number of VGPRs available on this agent."},
	StatusResourceBusy:            {"HSA_STATUS_ERROR_RESOURCE_BUSY", "The resource is busy or temporarily unavailable."},
	StatusNotSupported:            {"HSA_STATUS_ERROR_NOT_SUPPORTED", "The request is not supported."},
}

// String returns the name of the status in hsa.h.
func (s Status) String() string {
	if t, ok := statusText[s]; ok {
		return t[0]
	}
	return fmt.Sprintf("hsa_status_t(%#x)", uint32(s))
}

// Text returns what hsa_status_string says; ok is false for an unknown status.
func (s Status) Text() (text string, ok bool) {
	t, ok := statusText[s]
	if !ok {
		return "", false
	}
	return t[0] + ": " + t[1], true
}

// Error is the failure of an HSA operation.
type Error struct {
	Op     string
	Status Status
	Err    error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("hsa: %s: %v: %v", e.Op, e.Status, e.Err)
	}
	return fmt.Sprintf("hsa: %s: %v", e.Op, e.Status)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// StatusOf returns the status that err carries.
func StatusOf(err error) Status {
	if err == nil {
		return StatusSuccess
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	var k *hsakmt.Error
	if errors.As(err, &k) {
		return fromThunk(k.Status)
	}
	return StatusError
}

func fail(op string, s Status, args ...any) error {
	e := &Error{Op: op, Status: s}
	if len(args) > 0 {
		e.Err = fmt.Errorf(args[0].(string), args[1:]...)
	}
	return e
}

// wrap gives a thunk error its HSA status.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Status: StatusOf(err), Err: err}
}

func fromThunk(s hsakmt.Status) Status {
	switch s {
	case hsakmt.Success:
		return StatusSuccess
	case hsakmt.NoMemory, hsakmt.OutOfResources, hsakmt.IOChannelNotOpened:
		return StatusOutOfResources
	case hsakmt.InvalidParameter:
		return StatusInvalidArgument
	case hsakmt.InvalidNodeUnit:
		return StatusInvalidAgent
	}
	return StatusError
}
