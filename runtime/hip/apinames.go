package hip

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed apinames.txt
var apiNamesText string

// apiNames are the numbers that tracers know functions by.
var apiNames = sync.OnceValue(func() (t struct {
	byID   map[uint32][]string // two names where release 6 renamed a function, the older one first
	byName map[string]uint32
}) {
	t.byID, t.byName = map[uint32][]string{}, map[string]uint32{}
	for _, line := range strings.Split(apiNamesText, "\n") {
		id, name, ok := strings.Cut(line, " ")
		n, err := strconv.ParseUint(id, 10, 32)
		if ok && err == nil {
			t.byID[uint32(n)] = append(t.byID[uint32(n)], name)
			t.byName[name] = uint32(n)
		}
	}
	return t
})

// APIName returns the name of a function by its number in a tracer's records, "unknown" if the release has none of that number.
func (a *API) APIName(id uint32) string {
	const last5 = 363 // of release 5.7
	names := apiNames().byID[id]
	switch {
	case len(names) == 0 || a.Face <= 5 && id > last5:
		return "unknown"
	case a.Face <= 5:
		return names[0]
	}
	return names[len(names)-1]
}

// APINumber returns the number of a function, 0 if tracers do not know it.
func APINumber(name string) uint32 { return apiNames().byName[strings.TrimSuffix(name, "_spt")] }

// commandNames are the kinds of commands, by the numbers that OpenCL gave them.
var commandNames = map[uint32]string{
	0: "InternalMarker", 0x11f0: "KernelExecution", 0x11f1: "Task", 0x11f2: "NativeKernel", 0x11f3: "CopyDeviceToHost", 0x11f4: "CopyHostToDevice", 0x11f5: "CopyDeviceToDevice",
	0x11f6: "ReadImage", 0x11f7: "WriteImage", 0x11f8: "CopyImage", 0x11f9: "CopyImageToBuffer", 0x11fa: "CopyBufferToImage", 0x11fb: "MapBuffer", 0x11fc: "MapImage",
	0x11fd: "UnmapMemObject", 0x11fe: "Marker", 0x11ff: "AcquireGLObjects", 0x1200: "ReleaseGLObjects", 0x1201: "CopyDeviceToHost2D", 0x1202: "CopyHostToDevice2D",
	0x1203: "CopyDeviceToDevice2D", 0x1204: "User", 0x1205: "Barrier", 0x1206: "MigrateMemObjects", 0x1207: "FillBuffer", 0x1208: "FillImage", 0x1209: "SvmFree",
	0x120a: "SvmMemcpy", 0x120b: "SvmMemFill", 0x120c: "SvmMap", 0x120d: "SvmUnmap", 0x4501: "StreamWait", 0x4502: "StreamWrite",
}

// CommandName returns the name of a kind of command (hipGetCmdName).
func CommandName(kind uint32) string {
	if n, ok := commandNames[kind]; ok {
		return n
	}
	return "Unknown command kind"
}

// Tracer is called when a function of the API begins, with its number; what it returns is called when the function ends, unless it is nil.
type Tracer func(id uint32) (end func())

// SetTracer makes a tracer the one of all threads; nil ends it.
func (a *API) SetTracer(t Tracer) {
	if t == nil {
		a.tracer.Store(nil)
		return
	}
	a.tracer.Store(&t)
}

// run runs a function of the API, under the tracer if there is one that knows it.
func (a *API) run(name string, f func() Error) Error {
	t := a.tracer.Load()
	if t == nil {
		return f()
	}
	id := APINumber(name)
	if id == 0 {
		return f()
	}
	end := (*t)(id)
	e := f()
	if end != nil {
		end()
	}
	return e
}
