// Package mqd holds the byte layouts of memory queue descriptors.
//
// # How the real system does it
//
// A queue lives in memory; the hardware has only a few queue slots (HQDs), sets of registers. The memory queue
// descriptor (MQD) is the image of those registers for one queue. To run a queue, the scheduler firmware (HWS, MES) or the
// driver loads its MQD into a free slot; to take it off, the slot's state is saved back: the MQD's read pointer, write pointer and
// context-save offsets then say where the queue stopped. The driver writes an MQD once when the queue is created and
// changes single fields on update; the chip reads it at load and writes it at unload.
//
// A compute MQD (gfx9 to gfx12) is 512 dwords with the same offsets for the fields that matter here; only the compute-unit masks
// of shader engines 4 and up moved. An SDMA MQD is 128 dwords whose offsets differ in v9/v10, v11 and v12.
// Source: Linux drivers/gpu/drm/amd/include/v9_structs.h to v12_structs.h, amdkfd/kfd_mqd_manager_v9.c to _v12.c.
//
// # This package
//
// Compute and SDMA are the meaning of an MQD; Encode writes all fields of one into memory, Decode reads them back, and
// the Store functions change what the chip changes. Memory is a slice of 32-bit words that both sides share; the
// protocol (load, then unload) orders accesses, so plain loads and stores are enough.
package mqd
