package hipabi

import "C"

import (
	"github.com/pumice-gpu/pumice/runtime/hip"
)

// The log of calls, by functions instead of AMD_LOG_LEVEL.

//export hipExtSetLoggingParams
func hipExtSetLoggingParams(level, size, mask uint64) int32 {
	return call("hipExtSetLoggingParams", func(a *hip.API, _ *hip.Thread) hip.Error { return a.LoggingParams(level, mask) }, level, size, mask)
}

//export hipExtEnableLogging
func hipExtEnableLogging() int32 {
	return call("hipExtEnableLogging", func(a *hip.API, _ *hip.Thread) hip.Error { return a.EnableLogging() })
}

//export hipExtDisableLogging
func hipExtDisableLogging() int32 {
	return call("hipExtDisableLogging", func(a *hip.API, _ *hip.Thread) hip.Error { return a.DisableLogging() })
}
