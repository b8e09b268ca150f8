// Package pte holds the bit layouts of GPU page-table entries for each generation of the memory hub.
//
// # How the real system does it
//
// A GPU page is 4 KiB and every entry is 8 bytes, little endian. A GPU virtual address of 48 bits is walked through four
// levels of 512 entries: PDB2 (each entry covers 512 GiB), PDB1 (1 GiB), PDB0 (2 MiB) and PTB (4 KiB). Chips with
// 57-bit addresses have PDB3 above. The base register of a VMID holds an entry in PDE format that points to the root
// table.
//
// A page directory entry (PDE) holds the address of the next table. When its "PDE is PTE" bit is set it is a leaf of its
// level instead: a huge page. A leaf (PTE) says where the page is: with SYSTEM the address is a bus address, without
// it an address in video memory. FRAGMENT (log2 pages) promises that the page lies in a naturally aligned run with the same rights and
// contiguous addresses, so one TLB entry may serve the whole run. MTYPE picks the cache policy.
//
// An entry that is not valid need not be zero: from gfx9 on the driver leaves EXECUTABLE in cleared leaves so that a
// missing page faults as "not present" rather than as "not executable". The combination "no retry" (see NoRetry) makes
// a fault final.
//
// Bit positions differ by generation: gfx9, gfx10 and gfx11 (alike), gfx12. Source: Linux drivers/gpu/drm/amd/amdgpu,
// amdgpu_vm.h and gmc_v9_0.c to gmc_v12_0.c.
//
// # This package
//
// Entry is the meaning of an entry without its bit positions; a Gen encodes and decodes it. Encoding an Entry that
// the generation cannot hold drops what has no bit (the hardware has none either); TestRoundTrip names those.
package pte
