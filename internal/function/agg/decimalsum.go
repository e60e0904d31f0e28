package agg

import (
	"math/big"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/decimal"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// decimalSum sums decimals. A sum beyond 38 digits stays lost, as in the rows that
// Spark keeps groups in; but where it keeps a sum in a variable, which has room for
// all digits, only the result has to fit (Whole).
type decimalSum struct {
	origin  *plan.Origin
	in, out plan.Type
	faults  fn.Faults
	try     string // the function that gives NULL instead of an error
	sums    []chunk.Dec
	met     []bool
	lost    []bool

	whole  bool
	carry  map[int]*big.Int // what of whole sums has no room in sums
	before *big.Int         // of the parts that have ended; nil without one
}

func (a *decimalSum) grow(n int) {
	a.sums, a.met, a.lost = grown(a.sums, n), grown(a.met, n), grown(a.lost, n)
}

func (a *decimalSum) Update(groups []int32, args []*chunk.Vector, sel chunk.Sel, n int) error {
	a.grow(n)
	values := chunk.Values[chunk.Dec](args[0])
	for _, i := range fn.Active(args[0].Valid, sel, len(groups)) {
		a.add(groups[i], values[i])
	}
	return nil
}

func (a *decimalSum) add(g int32, x chunk.Dec) {
	sum := a.sums[g].Add(x)
	wrapped := a.sums[g].Sign()*x.Sign() > 0 && sum.Sign() != x.Sign()
	switch {
	case a.whole && wrapped:
		a.carryOver(int(g))
		sum = x
	case !a.whole && (wrapped || !decimal.Fits(sum, plan.MaxPrecision)):
		a.lost[g] = true
	}
	a.sums[g], a.met[g] = sum, true
}

func (a *decimalSum) carryOver(g int) {
	if a.carry == nil {
		a.carry = map[int]*big.Int{}
	}
	if a.carry[g] == nil {
		a.carry[g] = new(big.Int)
	}
	a.carry[g].Add(a.carry[g], a.sums[g].BigInt())
}

// Whole keeps sums whole from the start.
func (a *decimalSum) Whole() { a.whole = true }

// EndPart ends a part of the only group, whose sum has to fit by itself.
func (a *decimalSum) EndPart() {
	if len(a.sums) == 0 || !a.met[0] {
		return
	}
	part := a.partTotal(0)
	if _, fits := decimal.FitBig(part, a.out.Scale, a.out); !fits {
		a.lost[0] = true
	}
	if a.before == nil {
		a.before = new(big.Int)
	}
	a.before.Add(a.before, part)
	delete(a.carry, 0)
	a.sums[0] = chunk.Dec{}
}

// partTotal is the sum of a group since its last part ended.
func (a *decimalSum) partTotal(g int) *big.Int {
	sum := a.sums[g].BigInt()
	if carried := a.carry[g]; carried != nil {
		sum.Add(sum, carried)
	}
	return sum
}

// total is the sum of a group that is not lost.
func (a *decimalSum) total(g int) *big.Int {
	sum := a.partTotal(g)
	if a.before != nil {
		sum.Add(sum, a.before)
	}
	return sum
}

// small is the sum of a group if it has 38 digits at most and was never larger.
func (a *decimalSum) small(g int) (chunk.Dec, bool) {
	if a.carry[g] != nil || a.before != nil {
		return chunk.Dec{}, false
	}
	return a.sums[g], decimal.Fits(a.sums[g], plan.MaxPrecision)
}

// isLost tells whether nothing is known of a sum any more.
func (a *decimalSum) isLost(g int) bool {
	return a.lost[g] || !a.whole && !decimal.Fits(a.sums[g], a.out.Precision)
}

func (a *decimalSum) overflow() error {
	return fn.Overflow("Overflow in sum of decimals", a.try).At(a.origin)
}

func (a *decimalSum) BufferTypes() []plan.Type {
	return []plan.Type{plan.Decimal(plan.MaxPrecision, a.in.Scale), plan.Boolean}
}

func (a *decimalSum) Buffers() []*chunk.Vector {
	t := a.BufferTypes()[0]
	lost := chunk.Make(plan.Boolean, len(a.sums))
	for g, x := range a.lost {
		chunk.Values[uint8](lost)[g] = fn.Bit(x)
	}
	return []*chunk.Vector{flagged(a.met, t, copied(t, a.sums)), lost}
}

func (a *decimalSum) Merge(groups []int32, buffers []*chunk.Vector, n int) error {
	a.grow(n)
	sums, lost := chunk.Values[chunk.Dec](buffers[0]), chunk.Values[uint8](buffers[1])
	for i, g := range groups {
		if buffers[0].IsNull(i) {
			continue
		}
		a.add(g, sums[i])
		a.lost[g] = a.lost[g] || lost[i] != 0
	}
	return nil
}

func (a *decimalSum) Result() (*chunk.Vector, error) {
	v := copied(a.out, a.sums)
	for g, met := range a.met {
		switch {
		case !met:
			v.SetNull(g)
			continue
		case a.isLost(g):
			if a.faults == fn.Raise {
				return nil, a.overflow()
			}
			v.SetNull(g)
			continue
		}
		if sum, small := a.small(g); small && decimal.Fits(sum, a.out.Precision) {
			continue
		}
		total := a.total(g)
		sum, fits := decimal.FitBig(total, a.out.Scale, a.out)
		switch {
		case fits:
			chunk.Values[chunk.Dec](v)[g] = sum
		case a.faults == fn.Raise:
			return nil, fn.DecimalOverflow(decimal.BigText(total, a.out.Scale), a.out).At(a.origin)
		default:
			v.SetNull(g)
		}
	}
	return v, nil
}
