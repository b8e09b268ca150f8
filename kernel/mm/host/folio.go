package host

import (
	"unsafe"

	"github.com/pumice-gpu/pumice/kernel/mm"
)

// sysFolio is a page of system memory: of the process at va, or of the staging area (data).
type sysFolio struct {
	va    uint64
	stage uint64         // address in the staging area, 0: in place, or to be made
	home  bool           // AllocFolio gave it
	src   unsafe.Pointer // of a page to be made: its content
	now   unsafe.Pointer // of a staging page whose memory was moved on to a device: where it is
}

func (f *sysFolio) Device() (mm.Pagemap, uint64) { return nil, 0 }
func (f *sysFolio) ZoneDeviceData() any          { return nil }
func (f *sysFolio) SetZoneDeviceData(any)        {}
func (f *sysFolio) RefCount() int                { return 1 }
func (f *sysFolio) MapCount() int                { return 1 }

// Addr is where the page is in the process: its bus address.
func (f *sysFolio) Addr() uint64 { return f.va }

// Data is the content of a staging page. A page in place must not be touched by Go code: nil.
func (f *sysFolio) Data() []byte {
	if f.stage == 0 {
		return nil
	}
	return memory(f.stage, mm.PageSize)
}

// BusAddr returns the bus address of a system page that is in place; ok is false for others.
func BusAddr(f mm.Folio) (addr uint64, ok bool) {
	x, is := f.(*sysFolio)
	if !is || x.stage != 0 || x.home {
		return 0, false
	}
	return x.va, true
}

// AllocFolio returns a page to be filled by CopyIn: one of the stock, or one that the kernel makes when it is put in place. Its content is
// undefined.
func (s *Space) AllocFolio() (mm.Folio, error) {
	return &sysFolio{stage: s.stage.takeIn(), home: true}, nil
}

// PutFolio gives a page back that was not used, or drops a device page's reference.
func (s *Space) PutFolio(f mm.Folio) {
	switch x := f.(type) {
	case *sysFolio:
		if x.home && x.stage != 0 {
			s.stage.giveIn([]uint64{x.stage}, false)
			x.home = false
		}
	case *devFolio:
		s.ptl.Lock()
		x.locked = false
		free := x.drop()
		s.ptl.Unlock()
		free()
	}
}
