// Package drm is the render node of a GPU: /dev/dri/renderD128 and up.
//
// # How Linux does it
//
// Each GPU has a primary node (card0, for display servers) and a render node, which anybody in the render group may open
// without authentication. Every open file has its own address space (VM) and its own table of GEM handles. AMD's compute
// user space opens the render node for three reasons: to ask what the device is (AMDGPU_INFO), to give its VM to KFD
// (ACQUIRE_VM), and to mmap buffers at offsets that KFD handed out.
//
// # How this package does it
//
// Node is the device file, File an open one. What libdrm asks for is served; command submission (CS, contexts, sync
// objects) is refused, because compute never goes that way.
//
// Errors are Linux's errno values; an unknown command is EINVAL as in drm_ioctl.
//
// Lock order: File.mu before the locks of package amdgpu.
//
// fidelity: approximate DRM_AMDGPU_GEM_SVM: on an address space that KFD has acquired, whose attributes it changes without KFD's ioctl showing that; EOPNOTSUPP on others
// fidelity: refused DRM command submission: CTX, CS, BO_LIST, WAIT_CS, WAIT_FENCES, SCHED, USERQ, SYNCOBJ_* fail with EOPNOTSUPP
package drm
