// Package doorc is door C: the kernel ABI as a foreign user space meets it in its own process.
//
// # The real system
//
// AMD's user space reaches the amdgpu driver by character devices and files: /dev/kfd (ioctl and mmap), a DRM render node
// for each GPU, the KFD topology below /sys/devices/virtual/kfd (with its symbolic twin in /sys/class/kfd), the DRM class
// and device directories that libdrm looks at to tell what kind of node it has opened, and /sys/module/amdgpu and
// /proc/modules, where tools look whether the driver is loaded.
//
// # This package
//
// A Tree holds those paths. A Door answers the questions of the C stub (cmd/libpumice) about them: stat, open, readlink,
// realpath, and ioctl, mmap and close of an opened device. Each opened device is backed by an empty memfd of its own, whose
// inode identifies it to the stub however the descriptor is duplicated. A text file is rendered when it is opened, into a
// memfd, so nothing is left in a file system, however the process ends.
//
// An ioctl runs on the application's thread with signals blocked, so it must not sleep for long. WAIT_EVENTS, which
// does, is first tried with no time-out, and then handed to a goroutine, while the application's thread waits in C.
//
// What stands behind the devices is a Kernel: kernel/kfd, or a fake in tests. Lock order: Door.mu is a leaf.
package doorc
