// Package codeobj reads AMDGPU code objects and the containers they travel in.
//
// # What a code object is
//
// The compiler links each GPU target's code into a small ELF shared object (ELFCLASS64, EM_AMDGPU, OSABI 64 for HSA). The ABI
// version byte of its header is the code object version less two from version 3 on (V3 1, V4 2, V5 3, V6 4). e_flags
// names the processor (low byte, MACH) and what the code assumes about XNACK and SRAM ECC; from V6 on also a generic
// version. A note of owner "AMDGPU" and type 32 carries a MessagePack map that describes each kernel: sizes, register
// counts, and the layout of the kernarg segment, argument by argument, including the hidden arguments that the runtime
// fills in. A kernel named k has two dynamic symbols: k, its code, and k.kd, a 64-byte kernel descriptor from which the
// packet processor sets the machine up. Device variables are ordinary data symbols.
//
// HIP programs carry the code objects of all targets in a bundle, one after another behind a table of entry ids
// such as hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-. One section may hold many bundles back to back, and a bundle may be
// compressed as a whole (magic CCOB, zlib or zstd).
//
// A target id is a processor name followed by settings, gfx90a:sramecc+:xnack-. A setting that is not written means "either":
// such code runs in both modes. Code whose id names a setting runs only on an agent in that mode. When several code
// objects of a bundle fit, the one that names most settings is taken, and a generic target (gfx9-generic) only when no
// exact one is there.
//
// Sources: LLVM's "User Guide for AMDGPU Backend" (ELF, code object metadata, kernel descriptor, target id) and "Clang
// Offload Bundler"; docs/design.
//
// # This package
//
// Open reads one code object, OpenBundle a bundle of either form. Both read lazily, hold on to the bytes given, and never
// write to them. Input is not trusted: every failure is a *FormatError that names the byte offset, nothing panics, and memory use is
// bounded by a small multiple of the input's size (of the declared size, itself bounded by MaxUncompressed, when
// compressed). All types are immutable after creation and safe for concurrent use.
package codeobj
