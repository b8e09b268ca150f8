// Package kfd holds the byte layouts of the /dev/kfd user ABI: request words, argument structures, flag and
// enumeration values, mmap offsets, and the names of the files of the KFD sysfs topology.
//
// # How the real system speaks
//
// AMD's compute driver is one character device. A process opens /dev/kfd once, reads the topology from
// /sys/devices/virtual/kfd/kfd/topology, opens the DRM render node of each GPU, and hands that descriptor to the
// driver with ACQUIRE_VM, which binds the process's GPU address space. Everything after that is an ioctl of type 'K' on
// the one descriptor, or an mmap of it with an offset that says what is wanted (doorbells, the event page, the
// remapped MMIO page).
//
// A request word packs, from bit 0: the command number (8 bits), the type 'K' (8), the size of the argument
// structure (14), and the direction (2: write = user to kernel 1, read = kernel to user 2). Kernel and user space may be
// built from different versions of the header: the driver finds the command by number alone, copies
// min(size in the word, size it knows) bytes in, clears the rest, and copies back the size in the word. So structures only
// ever grow at the end. CREATE_QUEUE did: 88 bytes in ROCm 5.2, 96 in 7.x.
//
// # This package
//
// The layouts are those of UAPI version 1.17 (include/uapi/linux/kfd_ioctl.h). Each structure here has the same size and
// the same field offsets as its C twin, little endian, no hidden padding, so a pointer to one may be passed
// to the real ioctl(2), and Decode/Encode move it in and out of a byte slice. Package tests pin every offset.
//
// The package imports nothing of the project and starts nothing.
package kfd
