package machine

import (
	"fmt"
	"os"

	"github.com/pumice-gpu/pumice/engine/isa"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"github.com/pumice-gpu/pumice/kernel/kfd"
	"github.com/pumice-gpu/pumice/kernel/sched"
	"github.com/pumice-gpu/pumice/kernel/uaccess"
	"github.com/pumice-gpu/pumice/silicon"
	"github.com/pumice-gpu/pumice/silicon/profile"
)

// Machine is the GPUs of a process with the driver that has found them.
type Machine struct {
	Driver *kfd.Driver
	chips  []*silicon.Device
	look   *explainer // nil unless the environment asks
	sys    *amdgpu.SystemMemory
}

// New builds the GPUs of these profiles, in the order of their topology nodes, and loads the driver.
func New(profiles []*profile.Profile) (m *Machine, err error) {
	world := sched.NewLive()
	m = &Machine{}
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
		return m, err
	}
	var devices []*amdgpu.Device
	code := &codeMap{memory: uaccess.Process{}}
	if err = lookOn(e, code); err != nil {
		return m, err
	}
	m.look = newExplainer(code)
	for i, p := range profiles {
		line := &amdgpu.Line{}
		report := &reporter{out: os.Stderr, gpu: p.Name, isa: isa.TargetByName(p.Target), code: code, dump: newFaultDump()}
		report.around = func(va uint64) (holding, below, above [2]uint64) { return m.Driver.Around(i, va) }
		hooks := silicon.Hooks{WaveFault: report.fault}
		if m.look != nil {
			m.look.silicon(&hooks, i)
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
	cfg := kfd.Config{World: world, Warn: warn}
	if m.look != nil {
		cfg.Hooks = m.look.kernel()
	}
	if m.Driver, err = kfd.New(cfg, devices); err == nil {
		traceSVM(m.Driver, os.Stderr)
		if m.look != nil {
			m.look.loaded(m.Driver)
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
