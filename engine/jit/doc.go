// Package jit compiles IR functions to x86-64 with AVX-512. On a CPU that has AVX2 only, package avx2 lowers each instruction as it is
// emitted; what it cannot lower makes its operation one of the helper's.
//
// # How a wavefront maps to the machine
//
// A VGPR holds one dword for each of 32 or 64 lanes; a zmm register holds sixteen. So the lanes of a wave are cut into
// strips of 16, and vector code is run strip by strip: a run of lane-wise operations (a region) is compiled once and
// looped over the 2 or 4 strips, so that all 32 zmm registers serve one strip's live values. An EXEC mask is a k register
// for each strip. Scalar values live in general registers.
//
// # Homes, slots, frames
//
// The wave's state block (package wave) is the home of every architectural register; RDI holds its address. Other values
// that outlive the piece of code that makes them have a slot in the worker's frame, whose address is in RSI. A vector
// value of 32 bits has one component, of 64 bits two (lanes 0–7 and 8–15 of each strip); component slots hold 64 bytes
// for each strip, so R11 = strip·64 indexes homes and slots alike, and R10 = strip·2 indexes masks.
//
// # Segments
//
// A block is cut into segments: scalar runs, vector regions, and wave operations (global memory, lane crossing, anything
// done by a helper). Nothing stays in a register from one segment to the next: it is in its home or its slot. Scalar
// operations that do not need a region's results are moved before it, so that regions grow long.
//
// # Exits
//
// Code leaves by storing a reason and returning to Go. An operation that the code cannot do itself (a TLB miss, an image,
// a rare function) leaves with its name; Go does it with the interpreter's evaluator on the values' slots, and
// code goes on behind it. Architectural writes are made in program order with respect to every operation that can
// fault, so the state is exact whenever code leaves.
//
// # Links
//
// Code that goes on in another function, by a call, a return, a change of MODE, goes straight to that function's code when the worker's table of links
// knows where it is, and by Go otherwise, which looks it up as at the start of a run and notes it in the table (link.go). So a run may pass through
// several Programs; each tells its number when it returns. A table holds for one state of the space's code: once Go has seen that code may have
// changed, which it looks for whenever it enters code, another table is used.
//
// Engines that are lazy (Engine.SetLazy; those of virtual GPUs are, but for a dump of all registers) leave out VGPRs that the program does
// not read before it writes them again, as a debugger sees optimised code (liveness.go).
//
// # Loops of one block
//
// A block that jumps to itself and whose scalars depend on no vector value runs to its end for one strip, or a few side by
// side, with its registers in zmm all the while, then for the next from the same scalar state (loop.go). That form is for
// full EXEC; the usual one stands behind it.
//
// # Ifs in loops
//
// A loop that writes EXEC has copies of its blocks for when all lanes are active (fullexec.go), which the blocks look for where they may be
// entered. What EXEC is made of there is folded, registers are written whole, and memory operations need not ask.
//
// # Loops over arrays
//
// A block that jumps to itself and steps over an array with the whole grid has a second form too (stride.go), in which the index is a scalar and its comparisons,
// addresses and carries are done once for the wave, as in streams. It holds from turn to turn until a lane is done; guards at the beginning
// of each turn see when it does not, and then the usual form does the turn.
//
// # Runs of affine addresses
//
// Loops over tiles work out an address for each lane and load there. From a segment on to one of the last loads of such a block there is a second
// form (affine.go), which does the arithmetic for the first and the last lane of each strip only: one register instead of four, or of eight
// for addresses. Guards see that the lanes between lie on the line: then loads are copies of whole strips, and registers are written once, in
// the end. What does not change in the loop is worked out when the wave comes into it. As with streams, nothing is written before all guards have
// held, and the usual form stands behind.
//
// Addresses that such a loop only moves on are carried from turn to turn as corners, their registers' homes old meanwhile; before anybody can look
// at these they are written (affinecarry.go). What is loaded and stays in the block is read from the frame, which all waves share.
//
// # Tiles in the LDS
//
// Kernels that work on tiles read columns at one address for sixteen lanes, and rows at addresses that all strips have. A region with many such loads
// has versions for that (ldstile.go), chosen by one look at the addresses; its loads are memory operands of what uses them. Rows that must be taken apart are so
// once for all strips, and for the waves of a work-group that come there before the LDS is written again. Stores of dwords are the whole
// wave's, in rows, in columns, or scattered (ldscolumn.go). In a loop that does not write the addresses they are looked at once (ldskind.go).
//
// # Streams
//
// A kernel whose waves run straight to their end has a second form, which runs the waves of many work-groups by one call
// (stream.go, streameval.go, streamemit.go, batch.go). Its trace with all lanes active is evaluated symbolically: a vector value
// is uniform, affine (what lane 0 has, and a constant step from lane to lane), or general. So 64-bit additions with carries, shifts and
// comparisons of indexes become scalar operations, done once for the dispatch, for a work-group, or for a wave, and a memory
// operation is one access of the whole wave at one address. Only general values are in zmm, from the load to the store.
// Nothing architectural is written.
//
// What this rests on is checked by guards: that lanes do not wrap, that a comparison holds in all lanes, that addresses lie in a
// mem.Range with the rights. All guards come before the first memory operation, so a wave that does not fit has done nothing and
// is begun anew in the usual form, which finds the exact fault, mask or page. A wave for which a comparison holds in no
// lane, and that then ends, is over. Where the work-items of a work-group are in the order of its waves and lanes, guards and
// addresses are those of the whole group, and short code is written out for several of its waves. Where the work-groups go on
// from each other likewise, they are those of the whole batch (streambatch.go): what is left in the loop over its waves is loads,
// arithmetic and stores (batchemit.go), strip by strip, and around the caches where a dispatch has more data than they hold. Loops, LDS, atomics, scratch, barriers, and stores that are not one behind the other have no such form.
//
// # Ranges
//
// Accesses of all lanes that follow one another look at a mem.Range before the TLB: a piece, of any size, that is contiguous
// in host memory. It is filled where the TLB is, and gone when that is flushed. Loads in loops prefetch (range.go).
//
// # Work-groups
//
// Waves of a work-group that can all go on run in one call: at s_barrier the code changes from one to the next (crew.go).
//
// # Addresses of each lane
//
// Gathers and scatters of global memory are translated all at once while they stay in the access's window, a piece of address
// space that is contiguous in the host (window.go). A store whose lanes are not consecutive is translated whole before it
// writes anything. Flat accesses whose lanes all name the LDS are done as such (flat.go).
//
// # Tiers
//
// Waves of a large function start in the interpreter while another goroutine compiles it, at first without the forms that
// only speed code up, and with one piece of code for all accesses of a kind (shared.go); a function that runs for long is
// compiled again with them (tier.go). Engines and forms can resume
// what the others began, because state is exact at every exit.
//
// # Denormals
//
// Code that meets f32 denormals is compiled a second time, in a form that multiplies without the host's assists (denormal.go); which of the
// two runs is a matter of measured time (assist.go).
//
// # Matrix operations
//
// A and B are brought into tables in the frame and a row of D is made at a time (matrix.go), with the interpreter's bits. Rows whose
// rounding f64 does not decide, or with numbers that the fast arithmetic has no place for, go another way.
//
// # Fuel
//
// Each block takes its guest instructions from wave.Header.Fuel; back-edges test it. Runs are cut into slices of limited
// fuel with an ordinary Go call between them, which is where the garbage collector and TLB flushes get their turn.
package jit
