package drm

import (
	"testing"
	"unsafe"
)

func TestSizes(t *testing.T) {
	for name, c := range map[string][2]uintptr{
		"version":  {unsafe.Sizeof(VersionArgs{}), 64},
		"client":   {unsafe.Sizeof(GetClientArgs{}), 40},
		"prime":    {unsafe.Sizeof(PrimeArgs{}), 12},
		"create":   {unsafe.Sizeof(GEMCreateArgs{}), 32},
		"va":       {unsafe.Sizeof(GEMVAArgs{}), 40},
		"userptr":  {unsafe.Sizeof(GEMUserptrArgs{}), 24},
		"metadata": {unsafe.Sizeof(GEMMetadataArgs{}), 288},
		"info":     {unsafe.Sizeof(InfoArgs{}), 32},
		"device":   {unsafe.Sizeof(InfoDevice{}), 448},
		"memory":   {unsafe.Sizeof(InfoMemoryData{}), 96},
		"hw ip":    {unsafe.Sizeof(InfoHWIP{}), 32},
		"svm":      {unsafe.Sizeof(GEMSVMArgs{}), 32},
		// Offsets that libdrm 2.4.114 (368 bytes) relies on.
		"family":  {unsafe.Offsetof(InfoDevice{}.Family), 16},
		"counter": {unsafe.Offsetof(InfoDevice{}.GPUCounterFreq), 28},
		"tcc":     {unsafe.Offsetof(InfoDevice{}.TCCDisabledMask), 360},
		"mall":    {unsafe.Offsetof(InfoDevice{}.MALLSize), 408},
		"va off":  {unsafe.Offsetof(InfoDevice{}.VirtualAddressOffset), 144},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %d, want %d", name, c[0], c[1])
		}
	}
}

func TestCommands(t *testing.T) {
	for i, c := range Commands {
		if i > 0 && Commands[i-1].Nr >= c.Nr {
			t.Errorf("%s out of order", c.Name)
		}
	}
	for nr, want := range map[Nr]uint32{NrVersion: 0xc0406400, NrAMDGPUInfo: 0x40206445, NrAMDGPUGEMCreate: 0xc0206440, NrGEMClose: 0x40086409} {
		if c, ok := Lookup(nr); !ok || c.Request() != want {
			t.Errorf("%s: %#x, want %#x", nr, c.Request(), want)
		}
	}
}
