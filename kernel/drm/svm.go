package drm

import (
	"encoding/binary"

	"github.com/pumice-gpu/pumice/abi/drm"
	"github.com/pumice-gpu/pumice/kernel/amdgpu/svm"
	"golang.org/x/sys/unix"
)

// SVM is the shared virtual memory of an address space on this node's GPU: it implements DRM_AMDGPU_GEM_SVM. Errors are unix.Errno.
type SVM interface {
	SetAttrs(start, size uint64, attrs []svm.Attr) error
	GetAttrs(start, size uint64) (svm.Attrs, error)
	ResetAttrs(start, size uint64) error
}

// Operations of DRM_AMDGPU_GEM_SVM (kernel-svm §8.1).
const (
	svmSet   = 0
	svmGet   = 1
	svmReset = 2
)

// maxSVMAttrs bounds the attributes of one call.
const maxSVMAttrs = 64

// gemSVM is DRM_AMDGPU_GEM_SVM. EOPNOTSUPP: the address space takes no part in shared virtual memory.
func (f *File) gemSVM(a *drm.GEMSVMArgs) error {
	var s SVM
	if f.node.SVM != nil {
		s = f.node.SVM(f.vm)
	}
	switch {
	case s == nil:
		return unix.EOPNOTSUPP
	case a.Operation > svmReset:
		return unix.EINVAL
	case a.Operation == svmReset:
		return s.ResetAttrs(a.StartAddr, a.Size)
	case a.NAttr == 0 || a.NAttr > maxSVMAttrs || a.AttrsPtr == 0:
		return unix.EINVAL
	}
	b := make([]byte, 8*a.NAttr)
	if err := f.node.mem.Read(a.AttrsPtr, b); err != nil {
		return unix.EFAULT
	}
	list := make([]svm.Attr, a.NAttr)
	for i := range list {
		list[i] = svm.Attr{Type: svm.AttrType(binary.LittleEndian.Uint32(b[8*i:])), Value: binary.LittleEndian.Uint32(b[8*i+4:])}
	}
	if a.Operation == svmSet {
		for _, x := range list {
			if err := x.Check(); err != nil {
				return unix.EINVAL
			}
		}
		return s.SetAttrs(a.StartAddr, a.Size, list)
	}
	got, err := s.GetAttrs(a.StartAddr, a.Size)
	if err != nil {
		return err
	}
	for i, x := range list {
		v, ok := got.Value(x.Type)
		if !ok {
			return unix.EINVAL
		}
		binary.LittleEndian.PutUint32(b[8*i+4:], v)
	}
	if f.node.mem.Write(a.AttrsPtr, b) != nil {
		return unix.EFAULT
	}
	return nil
}
