package hsa

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// CUMasks are compute units by the index of a GPU: what HSA_CU_MASK allows its queues. GPUs that are not there are not restricted.
type CUMasks map[int][]uint32

var errCUMask = errors.New("not GPUs:CUs;... with lists such as 0,2-3, or 0x and bits")

// ParseCUMasks reads HSA_CU_MASK: parts between semicolons, each a list of GPUs, a colon, and their compute units as a list or as a number in hex. GPUs are counted after
// ROCR_VISIBLE_DEVICES. To name a GPU or a unit twice is an error, and so is a mask without units.
func ParseCUMasks(s string) (CUMasks, error) {
	m := CUMasks{}
	for part := range strings.SplitSeq(s, ";") {
		gpus, units, ok := strings.Cut(part, ":")
		if !ok {
			return nil, errCUMask
		}
		gs, err := idList(gpus, 1<<10)
		if err != nil {
			return nil, err
		}
		mask, err := cuMask(strings.TrimSpace(units))
		if err != nil {
			return nil, err
		}
		for _, g := range gs {
			if m[g] != nil {
				return nil, errCUMask
			}
			m[g] = mask
		}
	}
	return m, nil
}

func cuMask(s string) ([]uint32, error) {
	var mask []uint32
	set := func(i int) {
		for len(mask) <= i/32 {
			mask = append(mask, 0)
		}
		mask[i/32] |= 1 << (i % 32)
	}
	if hex, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		if len(hex) > 1<<10 {
			return nil, errCUMask
		}
		for i := range len(hex) {
			d, err := strconv.ParseUint(hex[len(hex)-1-i:len(hex)-i], 16, 8)
			if err != nil {
				return nil, errCUMask
			}
			for b := range 4 {
				if d>>b&1 != 0 {
					set(4*i + b)
				}
			}
		}
	} else {
		ids, err := idList(s, 1<<12)
		if err != nil {
			return nil, err
		}
		for _, i := range ids {
			set(i)
		}
	}
	if len(mask) == 0 {
		return nil, errCUMask
	}
	return mask, nil
}

// idList reads numbers and ranges of numbers, each below a limit and once.
func idList(s string, limit int) (ids []int, err error) {
	for x := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(x), "-")
		if !isRange {
			last = first
		}
		a, err1 := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || a < 0 || b < a || b >= limit {
			return nil, errCUMask
		}
		for i := a; i <= b; i++ {
			if slices.Contains(ids, i) {
				return nil, errCUMask
			}
			ids = append(ids, i)
		}
	}
	return ids, nil
}

// allowed is the mask that HSA_CU_MASK leaves an agent, nil for all units.
func (a *Agent) allowed() []uint32 {
	if i := slices.Index(a.rt.gpus, a); i >= 0 {
		return a.rt.opts.CUMasks[i]
	}
	return nil
}

// SetCUMask restricts the queue to compute units. Those that HSA_CU_MASK keeps from the agent stay away: then the mask is set without them, and the error has
// StatusCUMaskReduced. No words restore all that are allowed.
func (q *Queue) SetCUMask(mask []uint32) error {
	const op = "queue_cu_set_mask"
	allowed, reduced := q.Agent.allowed(), false
	full := make([]uint32, (q.Agent.ComputeUnits+31)/32)
	for i := range full {
		full[i] = ^uint32(0)
		if n := q.Agent.ComputeUnits - uint32(32*i); n < 32 {
			full[i] = 1<<n - 1
		}
		if allowed != nil {
			if i < len(allowed) {
				full[i] &= allowed[i]
			} else {
				full[i] = 0
			}
		}
	}
	want := full
	if len(mask) > 0 {
		want = slices.Clone(mask)
		for i := range want {
			in := uint32(0)
			if i < len(full) {
				in = full[i]
			}
			if allowed != nil && want[i]&^in != 0 {
				reduced = true
			}
			if allowed != nil {
				want[i] &= in
			}
		}
	}
	if err := q.rt.kfd.SetCUMask(q.kq, want); err != nil {
		return wrap(op, err)
	}
	q.mu.Lock()
	q.cuMask = want
	q.mu.Unlock()
	if reduced {
		return fail(op, StatusCUMaskReduced)
	}
	return nil
}

// CUMask returns the compute units that the queue may use, a bit each.
func (q *Queue) CUMask() []uint32 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cuMask != nil {
		return slices.Clone(q.cuMask)
	}
	n := q.Agent.ComputeUnits
	m := make([]uint32, (n+31)/32)
	for i := range n {
		m[i/32] |= 1 << (i % 32)
	}
	return m
}
