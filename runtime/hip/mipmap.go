package hip

// Arrays with more than one level. AMD's runtime on Linux has no images of several levels, so making one is answered with hipErrorNotSupported, after the
// arguments are looked at; and since none is ever made, every handle of one is invalid.

// fidelity: refused hipMallocMipmappedArray and everything with mipmapped arrays: as on AMD's Linux runtime

// MallocMipmapped is hipMallocMipmappedArray, by what it was given.
func (a *API) MallocMipmapped(out, desc uintptr) Error {
	if out == 0 || desc == 0 {
		return ErrInvalidValue
	}
	return ErrNotSupported
}

// MipmappedLevel is hipGetMipmappedArrayLevel and hipMipmappedArrayGetLevel.
func (a *API) MipmappedLevel(out, array uintptr) Error {
	if out != 0 && array == 0 {
		return ErrInvalidHandle
	}
	return ErrInvalidValue
}

// TexRefSetMipmapped is hipTexRefSetMipmappedArray.
func (a *API) TexRefSetMipmapped() Error { return ErrInvalidValue }

// TexRefBorderColor is hipTexRefSetBorderColor and hipTexRefGetBorderColor: a texture reference has no member for the colour, and AMD's runtime stops there.
//
// fidelity: refused hipTexRefSetBorderColor, hipTexRefGetBorderColor: the reference's structure has no place for the colour
func (a *API) TexRefBorderColor(color, ref uintptr) Error {
	if color == 0 || ref == 0 {
		return ErrInvalidValue
	}
	return ErrNotSupported
}
