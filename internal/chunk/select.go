package chunk

import (
	"slices"

	"github.com/weir-dev/weir/internal/plan"
)

// Each calls fn for every picked row of n.
func (s Sel) Each(n int, fn func(i int)) {
	if s == nil {
		for i := range n {
			fn(i)
		}
		return
	}
	for _, i := range s {
		fn(int(i))
	}
}

// TrueRows appends to out the picked rows of a condition that are true. It is
// nil when all n rows are.
func TrueRows(cond *Vector, sel Sel, n int, out Sel) Sel {
	if cond.Type.Kind == plan.KindNull {
		return out
	}
	yes := Values[uint8](cond)
	out = slices.Grow(out, n)[:n]
	k := 0
	switch {
	case sel == nil && cond.Valid == nil:
		for i, b := range yes {
			out[k] = uint16(i)
			k += int(b & 1)
		}
	case sel == nil:
		for i, b := range yes {
			out[k] = uint16(i)
			k += int(b & (cond.Valid[i>>3] >> (i & 7)) & 1)
		}
	default:
		for _, i := range sel {
			if yes[i]&1 != 0 && cond.Valid.Get(int(i)) {
				out[k] = i
				k++
			}
		}
	}
	if k == n {
		return nil
	}
	return out[:k]
}

// Split parts the picked rows of n into those where a condition is true and
// others. Neither is nil.
func Split(cond *Vector, sel Sel, n int) (yes, no Sel) {
	both := make(Sel, sel.Count(n))
	front, back := 0, len(both)
	isNull := cond.Type.Kind == plan.KindNull
	var values []uint8
	if !isNull {
		values = Values[uint8](cond)
	}
	sel.Each(n, func(i int) {
		if !isNull && values[i]&1 != 0 && cond.Valid.Get(i) {
			both[front] = uint16(i)
			front++
		} else {
			back--
			both[back] = uint16(i)
		}
	})
	no = both[back:]
	for a, b := 0, len(no)-1; a < b; a, b = a+1, b-1 {
		no[a], no[b] = no[b], no[a]
	}
	return both[:front:front], no
}
