package machine

import (
	"fmt"
	"os"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/internal/observe"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/kfd"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/silicon"
	"github.com/pumice-gpu/pumice/silicon/profile"
)

// Machine is the GPUs of a process with the driver that has found them.
type Machine struct {
	Driver *kfd.Driver
	chips  []*silicon.Device
	code   *observe.CodeMap
	look   *observe.Explainer // nil unless the environment asks
	sys    *amdgpu.SystemMemory
}

// New builds the GPUs of these profiles, in the order of their topology nodes, and loads the driver.
func New(profiles []*profile.Profile) (m *Machine, err error) {
	world := sched.NewLive()
	m = &Machine{code: observe.NewCodeMap()}
	defer func() {
		if err != nil {
			m.Close()
			m = nil
		}
	}()
	if m.sys, err = amdgpu.NewSystemMemory(world, 0); err != nil {
		return m, err
	}
	e, err := newEngine(os.Getenv(EngineVariable))
	if err != nil {
		return m, fmt.Errorf("%s: %w", EngineVariable, err)
	}
	var devices []*amdgpu.Device
	if err = observe.Engine(e, m.code); err != nil {
		return m, err
	}
	m.look = observe.NewExplainer(m.code)
	for i, p := range profiles {
		line := &amdgpu.Line{}
		report := observe.NewReporter(os.Stderr, p.Name, isa.TargetByName(p.Target), m.code,
			func(va uint64) (holding, below, above [2]uint64) { return m.Driver.Around(i, va) })
		hooks := silicon.Hooks{WaveFault: report.Fault}
		if m.look != nil {
			m.look.Silicon(&hooks, i)
		}
		chip, err := silicon.New(p, silicon.Config{
			Engine:    e,
			Interrupt: line.Raise,
			// What is above the card's own size is where migrated pages live; the memory is sparse.
			VRAMSize: p.Memory.Bytes + p.Memory.Bytes/4,
			Hooks:    hooks,
		})
		if err != nil {
			return m, fmt.Errorf("%s: %w", p.Name, err)
		}
		m.chips = append(m.chips, chip)
		d, err := amdgpu.New(world, p, amdgpu.Silicon(chip), m.sys, line)
		if err != nil {
			return m, fmt.Errorf("%s: %w", p.Name, err)
		}
		devices = append(devices, d)
	}
	cfg := kfd.Config{World: world, Warn: observe.Warn}
	if cfg.DelayInterrupts, err = parseInjections(os.Getenv(InjectVariable)); err != nil {
		return m, fmt.Errorf("%s: %w", InjectVariable, err)
	}
	if cfg.OldSVM, err = oldSVM(os.Getenv(SVMEngineVariable)); err != nil {
		return m, fmt.Errorf("%s: %w", SVMEngineVariable, err)
	}
	if m.look != nil {
		cfg.Hooks = m.look.Kernel()
	}
	if m.Driver, err = kfd.New(cfg, devices); err == nil {
		observe.TraceSVM(m.Driver, os.Stderr)
		if m.look != nil {
			m.look.Loaded(m.Driver)
		}
	}
	return m, err
}

// Close stops everything. A process that just ends need not call it.
func (m *Machine) Close() {
	if m.Driver != nil {
		m.Driver.Exit()
		for _, d := range m.Driver.Devices() {
			d.Close()
		}
	}
	for _, c := range m.chips {
		c.Close()
	}
	if m.sys != nil {
		m.sys.Close()
	}
}
