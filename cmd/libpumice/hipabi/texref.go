package hipabi

import "C"

import "github.com/pumice-gpu/pumice/runtime/hip"

// What a texture reference says of filtering between levels; it is kept in the reference, and has no effect on textures with one level.

//export hipTexRefSetMaxAnisotropy
func hipTexRefSetMaxAnisotropy(ref uintptr, n uint32) int32 {
	return call("hipTexRefSetMaxAnisotropy", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.TexRefMipmap(ref, func(m *hip.TexRefMipmap) { m.MaxAnisotropy = n })
	}, ref, n)
}

//export hipTexRefGetMaxAnisotropy
func hipTexRefGetMaxAnisotropy(out *int32, ref uintptr) int32 {
	return call("hipTexRefGetMaxAnisotropy", func(a *hip.API, _ *hip.Thread) hip.Error {
		if out == nil {
			return hip.ErrInvalidValue
		}
		return a.TexRefMipmap(ref, func(m *hip.TexRefMipmap) { *out = int32(m.MaxAnisotropy) })
	}, outOf(&out), ref)
}

//export hipTexRefSetMipmapFilterMode
func hipTexRefSetMipmapFilterMode(ref uintptr, mode uint32) int32 {
	return call("hipTexRefSetMipmapFilterMode", func(a *hip.API, _ *hip.Thread) hip.Error {
		if mode > 1 {
			return hip.ErrInvalidValue
		}
		return a.TexRefMipmap(ref, func(m *hip.TexRefMipmap) { m.FilterMode = mode })
	}, ref, mode)
}

//export hipTexRefGetMipmapFilterMode
func hipTexRefGetMipmapFilterMode(out *uint32, ref uintptr) int32 {
	return call("hipTexRefGetMipmapFilterMode", func(a *hip.API, _ *hip.Thread) hip.Error {
		if out == nil {
			return hip.ErrInvalidValue
		}
		return a.TexRefMipmap(ref, func(m *hip.TexRefMipmap) { *out = m.FilterMode })
	}, outOf(&out), ref)
}

//export hipTexRefSetMipmapLevelBias
func hipTexRefSetMipmapLevelBias(ref uintptr, bias float32) int32 {
	return call("hipTexRefSetMipmapLevelBias", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.TexRefMipmap(ref, func(m *hip.TexRefMipmap) { m.LevelBias = bias })
	}, ref, bias)
}

//export hipTexRefGetMipmapLevelBias
func hipTexRefGetMipmapLevelBias(out *float32, ref uintptr) int32 {
	return call("hipTexRefGetMipmapLevelBias", func(a *hip.API, _ *hip.Thread) hip.Error {
		if out == nil {
			return hip.ErrInvalidValue
		}
		return a.TexRefMipmap(ref, func(m *hip.TexRefMipmap) { *out = m.LevelBias })
	}, outOf(&out), ref)
}

//export hipTexRefSetMipmapLevelClamp
func hipTexRefSetMipmapLevelClamp(ref uintptr, lo, hi float32) int32 {
	return call("hipTexRefSetMipmapLevelClamp", func(a *hip.API, _ *hip.Thread) hip.Error {
		return a.TexRefMipmap(ref, func(m *hip.TexRefMipmap) { m.MinLevel, m.MaxLevel = lo, hi })
	}, ref, lo, hi)
}

//export hipTexRefGetMipmapLevelClamp
func hipTexRefGetMipmapLevelClamp(lo, hi *float32, ref uintptr) int32 {
	return call("hipTexRefGetMipmapLevelClamp", func(a *hip.API, _ *hip.Thread) hip.Error {
		if lo == nil || hi == nil {
			return hip.ErrInvalidValue
		}
		return a.TexRefMipmap(ref, func(m *hip.TexRefMipmap) { *lo, *hi = m.MinLevel, m.MaxLevel })
	}, outOf(&lo), outOf(&hi), ref)
}
