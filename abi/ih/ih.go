// Package ih holds the byte layout of interrupt ring entries.
//
// # How the real system does it
//
// The chip has one ring in system memory into which every block (the command processor, SDMA engines, the memory hub, wavefronts
// by s_sendmsg) writes 32-byte entries, "cookies". The interrupt handler (IH) block advances the ring's write pointer, which it also
// mirrors to memory, and raises one MSI; the driver reads entries up to the write pointer and stores the read pointer to a
// doorbell. A cookie says who (client), what (source), for which VMID and PASID, and carries four words of data.
//
// Source: Linux drivers/gpu/drm/amd: amdgpu_ih.c, soc15_ih_clientid.h, amdkfd/soc15_int.h, kfd_int_process_v9.c,
// gmc_v9_0.c.
package ih

import "encoding/binary"

// EntryBytes is the size of an entry.
const EntryBytes = 32

// Client is the block that raised an interrupt.
type Client uint8

// Clients (soc15_ih_clientid.h).
const (
	ClientIH     Client = 0x00
	ClientSDMA0  Client = 0x08
	ClientSDMA1  Client = 0x09
	ClientSE0SH  Client = 0x0a
	ClientVMC    Client = 0x12
	ClientGRBMCP Client = 0x14
	ClientSE1SH  Client = 0x15
	ClientSE2SH  Client = 0x17
	ClientSE3SH  Client = 0x19
	ClientUTCL2  Client = 0x1b
)

// Source is what happened, within a client.
type Source uint8

// Sources (soc15_int.h). A memory fault is source 0 of VMC or UTCL2.
const (
	SourceVMFault     Source = 0
	SourceCPEndOfPipe Source = 0xb5
	SourceCPBadOpcode Source = 0xb7
	SourceSQMessage   Source = 0xef
	SourceSDMATrap    Source = 0xe0
)

// Bits of RingID in an entry of a memory fault: what the page allowed.
const (
	FaultNotPresent = 0x08 // the page has no valid entry
	FaultNoRead     = 0x10
	FaultNoWrite    = 0x20
)

// Bits of Data[1] of a memory fault; its low four bits are bits 47:44 of the address, whose bits 43:12 are Data[0].
const (
	FaultWrite = 0x20 // the access was a write
	FaultExec  = 0x40 // the access was an instruction fetch; real chips tell it in the fault status register
	FaultRetry = 0x80 // the wave will run the access again
)

// Entry is one interrupt.
type Entry struct {
	Client    Client
	Source    Source
	RingID    uint8
	VMID      uint8
	VMHub     bool // memory hub instead of graphics hub
	Timestamp uint64
	PASID     uint16
	Node      uint8
	Data      [4]uint32
}

// Encode writes the entry into b, which has at least EntryBytes bytes. The timestamp is cut to 48 bits.
func (e *Entry) Encode(b []byte) {
	w := uint32(e.Client) | uint32(e.Source)<<8 | uint32(e.RingID)<<16 | uint32(e.VMID&15)<<24
	if e.VMHub {
		w |= 1 << 31
	}
	le := binary.LittleEndian
	le.PutUint32(b, w)
	le.PutUint32(b[4:], uint32(e.Timestamp))
	le.PutUint32(b[8:], uint32(e.Timestamp>>32)&0xffff)
	le.PutUint32(b[12:], uint32(e.PASID)|uint32(e.Node)<<16)
	for i, d := range e.Data {
		le.PutUint32(b[16+4*i:], d)
	}
}

// Decode reads an entry from b, which has at least EntryBytes bytes.
func Decode(b []byte) (e Entry) {
	le := binary.LittleEndian
	w := le.Uint32(b)
	e.Client, e.Source, e.RingID = Client(w), Source(w>>8), uint8(w>>16)
	e.VMID, e.VMHub = uint8(w>>24)&15, w>>31 != 0
	e.Timestamp = uint64(le.Uint32(b[4:])) | uint64(le.Uint32(b[8:])&0xffff)<<32
	w = le.Uint32(b[12:])
	e.PASID, e.Node = uint16(w), uint8(w>>16)
	for i := range e.Data {
		e.Data[i] = le.Uint32(b[16+4*i:])
	}
	return e
}

// VMFault makes the entry of a memory fault at va. Ring bits say why (FaultNotPresent ...), access bits what it was (FaultWrite,
// FaultExec, FaultRetry).
func VMFault(vmid uint8, pasid uint16, va uint64, ring uint8, access uint32) Entry {
	return Entry{
		Client: ClientUTCL2, Source: SourceVMFault, RingID: ring, VMID: vmid, PASID: pasid,
		Data: [4]uint32{uint32(va >> 12), uint32(va>>44)&15 | access},
	}
}

// FaultVA returns the page address of a memory fault, bits 47:12.
func (e *Entry) FaultVA() uint64 { return uint64(e.Data[0])<<12 | uint64(e.Data[1]&15)<<44 }

// Encodings of an SQ message, in bits 27:26 of Data[0].
const (
	SQAuto  = 0
	SQWave  = 1 // s_sendmsg of a wave
	SQError = 2
)

// SQMessage makes the entry of a wave's s_sendmsg(MSG_INTERRUPT) with user data m0 (24 bits).
func SQMessage(vmid uint8, pasid uint16, m0 uint32) Entry {
	return Entry{
		Client: ClientSE0SH, Source: SourceSQMessage, VMID: vmid, PASID: pasid,
		Data: [4]uint32{m0&0xfff | m0>>12&0xf<<28 | SQWave<<26, m0 >> 16 & 0xff},
	}
}

// SQData returns the 24 bits of user data of an SQ message, and its encoding.
func (e *Entry) SQData() (data uint32, encoding uint8) {
	return e.Data[0]&0xfff | e.Data[0]>>16&0xf000 | e.Data[1]<<16&0xff0000, uint8(e.Data[0]>>26) & 3
}

// EndOfPipe makes the entry of a completed signal whose event is id.
func EndOfPipe(vmid uint8, pasid uint16, id uint32) Entry {
	return Entry{Client: ClientGRBMCP, Source: SourceCPEndOfPipe, VMID: vmid, PASID: pasid, Data: [4]uint32{id}}
}

// SDMATrap makes the entry of an SDMA trap packet with context id.
func SDMATrap(engine int, vmid uint8, pasid uint16, id uint32) Entry {
	return Entry{Client: ClientSDMA0 + Client(engine&1), Source: SourceSDMATrap, VMID: vmid, PASID: pasid, Data: [4]uint32{id}}
}

// BadOpcode makes the entry of a packet that the command processor refused. data carries the doorbell id in bits 9:0 and the error
// code above.
func BadOpcode(vmid uint8, pasid uint16, data uint32) Entry {
	return Entry{Client: ClientGRBMCP, Source: SourceCPBadOpcode, VMID: vmid, PASID: pasid, Data: [4]uint32{data}}
}
