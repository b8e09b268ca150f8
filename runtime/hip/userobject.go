package hip

// User objects. A user object is something of the program's with a destructor, which graphs can hold: it is destroyed when neither the program nor a graph, nor an
// executable graph made from one, refers to it any more.

type userObject struct {
	handle uintptr
	ptr    uintptr
	free   func(ptr uintptr)
	refs   int // guarded by API.graphMu
}

const (
	userObjectNoDestructorSync = 1
	userObjectMove             = 1
)

// UserObjectCreate is hipUserObjectCreate; free is the program's destructor.
func (a *API) UserObjectCreate(out *uintptr, ptr uintptr, free func(uintptr), refs, flags uint32) Error {
	if out == nil || free == nil || refs == 0 || refs > 1<<31-1 || flags != userObjectNoDestructorSync {
		return ErrInvalidValue
	}
	o := &userObject{ptr: ptr, free: free, refs: int(refs)}
	o.handle = a.objects.add(o)
	*out = o.handle
	return Success
}

func (a *API) retainObject(o *userObject, n int) { o.refs += n }

// releaseObject is called without graphMu, because the destructor is the program's.
func (a *API) releaseObject(o *userObject, n int) {
	a.graphMu.Lock()
	o.refs -= n
	last := o.refs <= 0
	a.graphMu.Unlock()
	if last && a.objects.remove(o.handle) != nil {
		a.goneObjects.Store(o.handle, true)
		o.free(o.ptr)
	}
}

// goneObject is the answer for a handle of no user object: one that was destroyed is taken, and nothing happens, as in AMD's runtime.
func (a *API) goneObject(h uintptr) Error {
	if _, was := a.goneObjects.Load(h); was {
		return Success
	}
	return ErrInvalidValue
}

// UserObjectRetain adds references of the program.
func (a *API) UserObjectRetain(h uintptr, n uint32) Error {
	if n == 0 || n > 1<<31-1 {
		return ErrInvalidValue
	}
	o := a.objects.get(h)
	if o == nil {
		return a.goneObject(h)
	}
	a.graphMu.Lock()
	a.retainObject(o, int(n))
	a.graphMu.Unlock()
	return Success
}

// UserObjectRelease takes references of the program away.
func (a *API) UserObjectRelease(h uintptr, n uint32) Error {
	if n == 0 || n > 1<<31-1 {
		return ErrInvalidValue
	}
	o := a.objects.get(h)
	if o == nil {
		return a.goneObject(h)
	}
	a.releaseObject(o, int(n))
	return Success
}

// GraphRetainUserObject gives a graph references, new ones or, with the flag, the program's.
func (a *API) GraphRetainUserObject(gh, h uintptr, n, flags uint32) Error {
	if n == 0 || n > 1<<31-1 || flags&^userObjectMove != 0 {
		return ErrInvalidValue
	}
	o := a.objects.get(h)
	a.graphMu.Lock()
	defer a.graphMu.Unlock()
	g := a.graphs.get(gh)
	if g == nil {
		return ErrInvalidValue
	}
	if o == nil {
		return a.goneObject(h)
	}
	if flags&userObjectMove == 0 {
		a.retainObject(o, int(n))
	}
	if g.objects == nil {
		g.objects = map[*userObject]int{}
	}
	g.objects[o] += int(n)
	return Success
}

// GraphReleaseUserObject takes references of a graph away: all that it has, if it has fewer.
func (a *API) GraphReleaseUserObject(gh, h uintptr, n uint32) Error {
	if n == 0 || n > 1<<31-1 {
		return ErrInvalidValue
	}
	o := a.objects.get(h)
	a.graphMu.Lock()
	g := a.graphs.get(gh)
	if g == nil {
		a.graphMu.Unlock()
		return ErrInvalidValue
	}
	if o == nil {
		a.graphMu.Unlock()
		return a.goneObject(h)
	}
	take := min(g.objects[o], int(n))
	if take == 0 {
		a.graphMu.Unlock()
		return Success
	}
	if g.objects[o] -= take; g.objects[o] == 0 {
		delete(g.objects, o)
	}
	a.graphMu.Unlock()
	a.releaseObject(o, take)
	return Success
}
