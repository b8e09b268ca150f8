// Package lift turns AMDGPU machine code into the IR of package ir.
//
// What an instruction means is one line of text in sem/: `v_fma_f32: d = fma(s0, s1, s2)`. Everything that many
// instructions share is a rule in Go, written once: how an operand is fetched (neg, abs, SDWA selects, DPP permutes,
// op_sel halves, half-precision views), how a result is stored (omod, clamp, SDWA and 16-bit merges, EXEC), how an
// address is formed, and how packed and dual instructions are taken apart. So a line is right on every generation and
// in every encoding, or wrong in all of them.
//
// # The language of sem/
//
// A line is `names: statements`. Braces expand: v_add_{f16,f32}: is two lines. Statements are `place = expression`,
// separated by semicolons; all sources are read before any place is written.
//
//	places      d, d1 (destinations), m (a compare's mask), co (carry-out mask), scc, exec, vcc, m0, or a local name
//	sources     s0 s1 s2 s3 (operands in table order, modifiers applied), d (old destination), simm (signed 16-bit
//	            immediate), ci (carry-in mask), scc, exec, vcc (masks), exec64, exec32, m0, pc (of the next instruction)
//	operators   ~ - ! * + - << >> & ^ | (integers; on masks and truth values & | ^ ~ are mask logic), numbers
//	functions   see funcs.go: each is one IR operation or a few
//
// The number format of a float operation is that of its first operand, and an operand's is that of the isa table.
// Instructions that are not arithmetic name a rule instead: `global_load_b32: @load u32`.
//
// # What a Func is
//
// Func lifts all that is reachable by direct branches, and by falling through exits that resume (barriers, calls, traps),
// from one PC. No value crosses a block boundary, so an engine may enter a Func at any block's PC; those that follow an
// exit are where runs resume. Registers are cached inside a block, each write is emitted in program order, and a
// trailing pass drops the writes that no one can see. A barrier's exit may stand behind arithmetic that follows it (sink.go). Encodings that are reserved or have no meaning here end their
// block with ExitIllegal: the rest of the kernel runs.
package lift

// What has no line in sem/ stops the wave with its name, should it be reached.
//
//fidelity: refused isa-image-pck: image_load_pck and image_store_pck: how texels without conversion lie in registers is not said in the manuals
//fidelity: refused isa-image-gather4h: image_gather4h: which four texels of a row it takes is not said in the manuals
//fidelity: refused isa-image-get-lod: image_get_lod: differences between neighbouring lanes are not taken (see image-lod)
//fidelity: refused isa-image-msaa-load: image_msaa_load: see image-msaa
//fidelity: refused isa-ordered-count: ds_ordered_count waits for waves in the order of their launch, which only dispatches of graphics drivers with ORDERED_APPEND have
//fidelity: refused isa-gs-registers: ds_add_gs_reg_rtn, ds_sub_gs_reg_rtn and global_atomic_ordered_add_b64 use registers of the geometry engine
//fidelity: refused isa-interp: v_interp, lds_param_load and exports belong to graphics
//fidelity: refused isa-screen-partition: v_screen_partition_4se_b32 belongs to graphics; its table is not in the manuals
//fidelity: refused isa-ld-scale: a v_mfma_ld_scale_b32 that no scaled MFMA follows
//fidelity: approximate isa-dot2-half: v_dot2_f16_f16, v_dot2_bf16_bf16 and v_dot4_f32_* are chains of fused operations
//fidelity: approximate isa-cvt-pk-u8: v_cvt_pk_u8_f32 truncates
//fidelity: approximate isa-s-max-scc: SCC of s_max is set only when src0 is greater, as recorded on RDNA3, on every generation
