// Package drm holds the byte layouts of the DRM ioctls that the render node of an AMD GPU answers.
//
// # How the real system speaks
//
// /dev/dri/renderD128 and up are character devices of major 226, one for each GPU. Their ioctls have type 'd': numbers
// below 0x40 belong to every DRM driver (version, capabilities, GEM and PRIME handles), 0x40 to 0x9f to the driver. As
// with KFD, the kernel finds a command by its number and copies as many bytes as both sides know. A buffer object is
// named by a 32-bit GEM handle of the open file; it is mapped by an mmap of the file at an offset that GEM_MMAP tells.
//
// Source: Linux include/uapi/drm/drm.h and amdgpu_drm.h.
//
// # This package
//
// Structures have the size and field offsets of their C twins, pinned by tests. Commands is the table of what there is;
// not all of it is served (see kernel/drm).
package drm
