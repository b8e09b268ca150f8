package machine

import (
	"fmt"

	"github.com/pumice-gpu/pumice/engine"
	"github.com/pumice-gpu/pumice/engine/interp"
	"github.com/pumice-gpu/pumice/engine/jit"
)

// EngineVariable is the environment variable that names the engine. Empty means compiled code where this CPU can run it,
// and the interpreter elsewhere.
const EngineVariable = "PUMICE_ENGINE"

// engines by name. One engine serves all targets: it is told each wave's.
var engines = map[string]func() (engine.Engine, error){
	"interp":   func() (engine.Engine, error) { return interp.New(), nil },
	"jit":      func() (engine.Engine, error) { return jit.New() },
	"jit-avx2": func() (engine.Engine, error) { return jit.NewAVX2() },
}

// CheckEngine says whether there is an engine of that name.
func CheckEngine(name string) error {
	if _, ok := engines[name]; !ok {
		return fmt.Errorf("%q is not an engine; there are: interp, jit, jit-avx2", name)
	}
	return nil
}

func newEngine(name string) (engine.Engine, error) {
	if name == "" {
		if e, err := jit.New(); err == nil {
			return lazy(e), nil
		}
		return interp.New(), nil
	}
	if err := CheckEngine(name); err != nil {
		return nil, err
	}
	e, err := engines[name]()
	if err != nil {
		return nil, err
	}
	return lazy(e), nil
}

// lazy lets e leave out what no program can see (jit.Engine.SetLazy).
func lazy(e engine.Engine) engine.Engine {
	if l, ok := e.(interface{ SetLazy(bool) }); ok {
		l.SetLazy(true)
	}
	return e
}
