package codeobj

// Metadata is the content of the NT_AMDGPU_METADATA note.
type Metadata struct {
	Version [2]uint32 // 1.0 V3, 1.1 V4, 1.2 V5 and V6
	Target  string    // "amdgcn-amd-amdhsa--gfx90a"; from V4 on
	Printf  []string  // formats of OpenCL printf, "id:nargs:sizes...:format"
	Kernels []Kernel
}

// Kernel describes one kernel. Sizes are in bytes.
type Kernel struct {
	Name   string // as in the source, mangled
	Symbol string // of the descriptor: Name + ".kd"

	KernargSegmentSize      uint32
	KernargSegmentAlign     uint32
	GroupSegmentFixedSize   uint32
	PrivateSegmentFixedSize uint32
	WavefrontSize           uint32 // 32 or 64
	MaxFlatWorkgroupSize    uint32
	ReqdWorkgroupSize       [3]uint32 // zero if none required
	WorkgroupSizeHint       [3]uint32
	SGPRCount               uint32
	VGPRCount               uint32 // architectural and accumulation registers together on gfx90a and later
	AGPRCount               uint32
	SGPRSpillCount          uint32
	VGPRSpillCount          uint32

	UsesDynamicStack       bool
	WorkgroupProcessorMode bool
	UniformWorkgroupSize   bool
	Kind                   string // "", "normal", "init" or "fini"
	Language               string
	LanguageVersion        [2]uint32
	VecTypeHint            string
	DeviceEnqueueSymbol    string

	Args []Arg
}

// Arg is one entry of the kernarg segment: an explicit argument of the source, or a hidden one that the runtime fills.
type Arg struct {
	Name         string
	TypeName     string
	Offset       uint32 // in the kernarg segment
	Size         uint32
	Kind         ValueKind
	KindName     string // as written, so that a kind not known here can be named
	PointeeAlign uint32 // dynamic LDS pointers
	AddressSpace string // "global", "constant", "local", "generic", "private", "region", or ""
	Access       string // "read_only", "write_only", "read_write", or ""
	ActualAccess string
	IsConst      bool
	IsRestrict   bool
	IsVolatile   bool
	IsPipe       bool
}

// ValueKind says what is stored for an argument.
type ValueKind uint8

// Value kinds of LLVM's code object V3 to V6 metadata. From HiddenGlobalOffsetX on they are hidden.
const (
	KindUnknown ValueKind = iota
	ByValue
	GlobalBuffer
	DynamicSharedPointer
	Sampler
	Image
	Pipe
	QueueArg

	HiddenGlobalOffsetX
	HiddenGlobalOffsetY
	HiddenGlobalOffsetZ
	HiddenNone
	HiddenPrintfBuffer
	HiddenHostcallBuffer
	HiddenDefaultQueue
	HiddenCompletionAction
	HiddenMultigridSyncArg
	HiddenHeapV1
	HiddenBlockCountX
	HiddenBlockCountY
	HiddenBlockCountZ
	HiddenGroupSizeX
	HiddenGroupSizeY
	HiddenGroupSizeZ
	HiddenRemainderX
	HiddenRemainderY
	HiddenRemainderZ
	HiddenGridDims
	HiddenDynamicLDSSize
	HiddenPrivateBase
	HiddenSharedBase
	HiddenQueuePtr
)

var kindNames = [...]string{
	KindUnknown: "unknown", ByValue: "by_value", GlobalBuffer: "global_buffer",
	DynamicSharedPointer: "dynamic_shared_pointer", Sampler: "sampler", Image: "image", Pipe: "pipe", QueueArg: "queue",
	HiddenGlobalOffsetX: "hidden_global_offset_x", HiddenGlobalOffsetY: "hidden_global_offset_y",
	HiddenGlobalOffsetZ: "hidden_global_offset_z", HiddenNone: "hidden_none", HiddenPrintfBuffer: "hidden_printf_buffer",
	HiddenHostcallBuffer: "hidden_hostcall_buffer", HiddenDefaultQueue: "hidden_default_queue",
	HiddenCompletionAction: "hidden_completion_action", HiddenMultigridSyncArg: "hidden_multigrid_sync_arg",
	HiddenHeapV1: "hidden_heap_v1", HiddenBlockCountX: "hidden_block_count_x", HiddenBlockCountY: "hidden_block_count_y",
	HiddenBlockCountZ: "hidden_block_count_z", HiddenGroupSizeX: "hidden_group_size_x",
	HiddenGroupSizeY: "hidden_group_size_y", HiddenGroupSizeZ: "hidden_group_size_z",
	HiddenRemainderX: "hidden_remainder_x", HiddenRemainderY: "hidden_remainder_y",
	HiddenRemainderZ: "hidden_remainder_z", HiddenGridDims: "hidden_grid_dims",
	HiddenDynamicLDSSize: "hidden_dynamic_lds_size", HiddenPrivateBase: "hidden_private_base",
	HiddenSharedBase: "hidden_shared_base", HiddenQueuePtr: "hidden_queue_ptr",
}

var kindByName = func() map[string]ValueKind {
	m := make(map[string]ValueKind, len(kindNames))
	for k, n := range kindNames {
		if ValueKind(k) != KindUnknown {
			m[n] = ValueKind(k)
		}
	}
	return m
}()

// Hidden reports whether the runtime, not the caller, supplies the value.
func (k ValueKind) Hidden() bool { return k >= HiddenGlobalOffsetX }

func (k ValueKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[KindUnknown]
}

// ParseMetadata reads the descriptor of an NT_AMDGPU_METADATA note. Unknown keys are passed over: newer compilers
// add some.
func ParseMetadata(note []byte) (*Metadata, error) {
	p := &pack{b: note}
	m := &Metadata{}
	p.eachKey(func(key string) {
		switch key {
		case "amdhsa.version":
			p.each(func(i, _ int) {
				if i < 2 {
					m.Version[i] = p.uint32()
				} else {
					p.skip()
				}
			})
		case "amdhsa.target":
			m.Target = p.str()
		case "amdhsa.printf":
			p.each(func(int, int) { m.Printf = append(m.Printf, p.str()) })
		case "amdhsa.kernels":
			p.each(func(i, n int) {
				if m.Kernels == nil {
					m.Kernels = make([]Kernel, 0, min(n, len(note)/64+1))
				}
				k, off := Kernel{}, p.off
				p.kernel(&k)
				if p.err == nil && (k.Name == "" || k.Symbol == "") {
					p.fail(off, "kernel %d has no .name or .symbol", i)
				}
				m.Kernels = append(m.Kernels, k)
			})
		default:
			p.skip()
		}
	})
	if p.err != nil {
		return nil, p.err
	}
	if m.Version[0] != 1 {
		return nil, bad("metadata", 0, "amdhsa.version %d.%d, want 1.x", m.Version[0], m.Version[1])
	}
	return m, nil
}

func (p *pack) dim3() (d [3]uint32) {
	p.each(func(i, _ int) {
		if v := p.uint32(); i < 3 {
			d[i] = v
		}
	})
	return
}

func (p *pack) kernel(k *Kernel) {
	p.eachKey(func(key string) {
		switch key {
		case ".name":
			k.Name = p.str()
		case ".symbol":
			k.Symbol = p.str()
		case ".kernarg_segment_size":
			k.KernargSegmentSize = p.uint32()
		case ".kernarg_segment_align":
			k.KernargSegmentAlign = p.uint32()
		case ".group_segment_fixed_size":
			k.GroupSegmentFixedSize = p.uint32()
		case ".private_segment_fixed_size":
			k.PrivateSegmentFixedSize = p.uint32()
		case ".wavefront_size":
			k.WavefrontSize = p.uint32()
		case ".max_flat_workgroup_size":
			k.MaxFlatWorkgroupSize = p.uint32()
		case ".reqd_workgroup_size":
			k.ReqdWorkgroupSize = p.dim3()
		case ".workgroup_size_hint":
			k.WorkgroupSizeHint = p.dim3()
		case ".sgpr_count":
			k.SGPRCount = p.uint32()
		case ".vgpr_count":
			k.VGPRCount = p.uint32()
		case ".agpr_count":
			k.AGPRCount = p.uint32()
		case ".sgpr_spill_count":
			k.SGPRSpillCount = p.uint32()
		case ".vgpr_spill_count":
			k.VGPRSpillCount = p.uint32()
		case ".uses_dynamic_stack":
			k.UsesDynamicStack = p.bool()
		case ".workgroup_processor_mode":
			k.WorkgroupProcessorMode = p.bool()
		case ".uniform_work_group_size":
			k.UniformWorkgroupSize = p.bool()
		case ".kind":
			k.Kind = p.str()
		case ".language":
			k.Language = p.str()
		case ".language_version":
			p.each(func(i, _ int) {
				if v := p.uint32(); i < 2 {
					k.LanguageVersion[i] = v
				}
			})
		case ".vec_type_hint":
			k.VecTypeHint = p.str()
		case ".device_enqueue_symbol":
			k.DeviceEnqueueSymbol = p.str()
		case ".args":
			p.each(func(i, n int) {
				if k.Args == nil {
					k.Args = make([]Arg, 0, min(n, 256))
				}
				a, off := Arg{}, p.off
				p.arg(&a)
				if p.err == nil && uint64(a.Offset)+uint64(a.Size) > 1<<20 {
					p.fail(off, "argument %d of %q ends at %d, beyond any kernarg segment", i, k.Name, uint64(a.Offset)+uint64(a.Size))
				}
				k.Args = append(k.Args, a)
			})
		default:
			p.skip()
		}
	})
}

func (p *pack) arg(a *Arg) {
	p.eachKey(func(key string) {
		switch key {
		case ".name":
			a.Name = p.str()
		case ".type_name":
			a.TypeName = p.str()
		case ".offset":
			a.Offset = p.uint32()
		case ".size":
			a.Size = p.uint32()
		case ".value_kind":
			a.KindName = p.str()
			a.Kind = kindByName[a.KindName]
		case ".pointee_align":
			a.PointeeAlign = p.uint32()
		case ".address_space":
			a.AddressSpace = p.str()
		case ".access":
			a.Access = p.str()
		case ".actual_access":
			a.ActualAccess = p.str()
		case ".is_const":
			a.IsConst = p.bool()
		case ".is_restrict":
			a.IsRestrict = p.bool()
		case ".is_volatile":
			a.IsVolatile = p.bool()
		case ".is_pipe":
			a.IsPipe = p.bool()
		default:
			p.skip()
		}
	})
}

// Explicit returns the arguments that the caller of the kernel passes, in order.
func (k *Kernel) Explicit() []Arg {
	n := 0
	for n < len(k.Args) && !k.Args[n].Kind.Hidden() {
		n++
	}
	return k.Args[:n:n]
}
