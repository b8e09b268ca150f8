package drm

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/pumice-gpu/pumice/abi/drm"
	"github.com/pumice-gpu/pumice/kernel/amdgpu"
	"golang.org/x/sys/unix"
)

// info answers AMDGPU_INFO: as many bytes of the answer as the caller has room for.
func (f *File) info(a *drm.InfoArgs) error {
	if a.ReturnSize == 0 || a.ReturnPointer == 0 {
		return unix.EINVAL
	}
	var out []byte
	dev := f.node.Dev
	u32 := func(v uint32) { out = binary.LittleEndian.AppendUint32(out, v) }
	u64 := func(v uint64) { out = binary.LittleEndian.AppendUint64(out, v) }
	switch a.Query {
	case drm.InfoAccelWorking:
		u32(1)
	case drm.InfoHWIPCount:
		switch a.Arg[0] {
		case drm.HWIPCompute, drm.HWIPDMA, drm.HWIPGFX:
			u32(1)
		default:
			if a.Arg[0] >= drm.HWIPNum {
				return unix.EINVAL
			}
			u32(0)
		}
	case drm.InfoHWIPInfo:
		ip := f.hwIP(a.Arg[0], a.Arg[1])
		if ip == nil {
			return unix.EINVAL
		}
		out = drm.Bytes(ip)
	case drm.InfoTimestamp:
		u64(dev.Chip.Clock())
	case drm.InfoFWVersion:
		fw := drm.InfoFirmware{}
		switch a.Arg[0] {
		case drm.FirmwareGFXMEC, drm.FirmwareGFXME, drm.FirmwareGFXPFP:
			fw.Version = uint32(dev.Profile.Firmware.CP)
		case drm.FirmwareSDMA:
			fw.Version = uint32(dev.Profile.Firmware.SDMA)
		default:
			return unix.EINVAL
		}
		out = drm.Bytes(&fw)
	case drm.InfoNumBytesMoved, drm.InfoNumEvictions, drm.InfoVRAMLost, drm.InfoNumHandles:
		u64(0)
	case drm.InfoVRAMUsage, drm.InfoVisVRAMUsage:
		u64(dev.VRAMTotal() - dev.VRAMFree())
	case drm.InfoGTTUsage:
		u64(dev.Sys.Used())
	case drm.InfoVRAMGTT:
		d := drm.InfoVRAMGTTData{VRAMSize: dev.VRAMTotal(), VRAMCPUAccessibleSize: f.visible(), GTTSize: dev.Sys.Limit()}
		out = drm.Bytes(&d)
	case drm.InfoMemory:
		heap := func(total, used uint64) drm.HeapInfo {
			return drm.HeapInfo{Total: total, Usable: total, Usage: used, MaxAllocation: total * 3 / 4}
		}
		used := dev.VRAMTotal() - dev.VRAMFree()
		d := drm.InfoMemoryData{VRAM: heap(dev.VRAMTotal(), used), CPUAccessibleVRAM: heap(f.visible(), min(used, f.visible())),
			GTT: heap(dev.Sys.Limit(), dev.Sys.Used())}
		out = drm.Bytes(&d)
	case drm.InfoReadMMR:
		// Arg: dword offset, count, instance. Only what user space needs is in the driver's list of readable registers.
		if a.Arg[0] != drm.RegGBAddrConfig || a.Arg[1] != 1 {
			return unix.EINVAL
		}
		u32(uint32(dev.Profile.GBAddrConfig))
	case drm.InfoDevInfo:
		d := f.device()
		out = drm.Bytes(d)
	case drm.InfoSensor:
		switch a.Arg[0] {
		case drm.SensorGFXSClk:
			u32(uint32(dev.Profile.Clocks.EngineMHz))
		case drm.SensorGFXMClk:
			u32(uint32(dev.Profile.Clocks.MemoryMHz))
		default:
			return unix.EOPNOTSUPP
		}
	case drm.InfoMaxIBs:
		for range drm.HWIPNum {
			u32(0) // no command submission
		}
	default:
		return unix.EINVAL
	}
	return f.node.mem.Write(a.ReturnPointer, out[:min(len(out), int(a.ReturnSize))])
}

// visible is how much of the VRAM the CPU can map.
func (f *File) visible() uint64 {
	if f.node.Dev.Profile.Memory.LargeBAR {
		return f.node.Dev.VRAMTotal()
	}
	return min(256<<20, f.node.Dev.VRAMTotal())
}

// versions splits an IP version "9.4.2" in two numbers.
func versions(s string) (major, minor uint32) {
	p := strings.Split(s, ".")
	n := func(i int) uint32 {
		if i >= len(p) {
			return 0
		}
		v, _ := strconv.ParseUint(p[i], 10, 16)
		return uint32(v)
	}
	return n(0), n(1)
}

func (f *File) hwIP(kind, instance uint32) *drm.InfoHWIP {
	if instance != 0 {
		return nil
	}
	p := f.node.Dev.Profile
	ip := &drm.InfoHWIP{IBStartAlignment: 32, IBSizeAlignment: 32}
	switch kind {
	case drm.HWIPGFX, drm.HWIPCompute:
		ip.VersionMajor, ip.VersionMinor = versions(p.GCVersion)
	case drm.HWIPDMA:
		ip.VersionMajor, ip.VersionMinor = versions(p.SDMAVersion)
	default:
		return nil
	}
	return ip // available rings: none, they are KFD's
}

// device fills drm_amdgpu_info_device from the profile.
func (f *File) device() *drm.InfoDevice {
	dev := f.node.Dev
	p := dev.Profile
	s := &p.Shape
	d := &drm.InfoDevice{
		DeviceID: uint32(p.PCI.Device), PCIRev: uint32(p.PCI.Revision), ExternalRev: uint32(p.PCI.ExternalRevision), Family: p.PCI.Family,
		NumShaderEngines: uint32(s.ShaderEngines), NumShaderArraysPerEngine: uint32(s.ArraysPerEngine),
		GPUCounterFreq: uint32(p.Clocks.CounterKHz), MaxEngineClock: uint64(p.Clocks.EngineMHz) * 1000,
		MaxMemoryClock: uint64(p.Clocks.MemoryMHz) * 1000, CUActiveNumber: uint32(s.CUs), NumHWGfxContexts: 8, PCIeGen: 4, PCIeNumLanes: 16,
		VirtualAddressOffset: amdgpu.MinVA, VirtualAddressMax: amdgpu.MaxVA, VirtualAddressAlignment: drm.VAAlignment, PTEFragmentSize: 2 << 20,
		GARTPageSize: drm.GARTPageSize, VRAMBitWidth: uint32(p.Memory.BusBits), WaveFrontSize: uint32(s.WaveSize),
		NumCUPerSH: uint32(s.CUsPerArray), NumShaderVisibleVGPRs: uint32(s.VGPRsPerSIMD), HighVAOffset: 0xffff800000000000, HighVAMax: 0xffffffffffff0000,
	}
	d.VRAMType = drm.VRAMTypeGDDR6
	if strings.HasPrefix(p.Memory.Type, "HBM") {
		d.VRAMType = drm.VRAMTypeHBM
	}
	left := s.CUs
	per := (s.CUs + s.ShaderEngines*s.ArraysPerEngine - 1) / (s.ShaderEngines * s.ArraysPerEngine)
	for se := range s.ShaderEngines {
		for sa := range s.ArraysPerEngine {
			n := min(per, left)
			left -= n
			// Engines 4 to 7 stand in the second half of the array index, as the driver folds them.
			if se < 8 && sa+se/4*2 < 4 {
				d.CUBitmap[se%4][sa+se/4*2] |= 1<<n - 1
			}
		}
	}
	for _, c := range p.Caches {
		switch {
		case c.Level == 1 && has(c.Kinds, "instruction"):
			d.SQCInstCacheSize = uint32(c.SizeKB)
		case c.Level == 1 && has(c.Kinds, "scalar"):
			d.SQCDataCacheSize = uint32(c.SizeKB)
		case c.Level == 1:
			d.TCPCacheSize = uint32(c.SizeKB)
		case c.Level == 2:
			d.GL2CCacheSize = uint32(c.SizeKB)
		case c.Level == 3:
			d.MALLSize = uint64(c.SizeKB) << 10
		}
	}
	return d
}

func has(l []string, s string) bool {
	for _, x := range l {
		if x == s {
			return true
		}
	}
	return false
}
