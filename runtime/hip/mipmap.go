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

// ImportSemaphore is hipImportExternalSemaphore. kind and fd are of the descriptor.
//
// fidelity: refused hipImportExternalSemaphore and what uses it: as in AMD's runtime on Linux; a semaphore would be a DRM sync object, and the virtual device has none
func (a *API) ImportSemaphore(out uintptr, desc *ExternalMemoryDesc) Error {
	const lastKind = 10 // timeline semaphores of Win32
	if out == 0 || desc == nil || desc.Type == 0 || desc.Type > lastKind || desc.FD == 0 {
		return ErrInvalidValue
	}
	return ErrNotSupported
}

// Semaphores is every function that takes semaphores: none was ever imported, so the handles are wrong.
func (a *API) Semaphores() Error { return ErrInvalidValue }
