package function

import (
	"math"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/function/fn"
	"github.com/weir-dev/weir/internal/plan"
)

// The functions of this file draw what samples go by, as Spark's samplers do.

// drawDefs are known to analysis alone.
func drawDefs() []*fn.Def {
	bound := func(of plan.Type) func(b *fn.Binding) (*plan.Call, error) {
		return func(b *fn.Binding) (*plan.Call, error) { return b.Call(b.Args, of, false), nil }
	}
	return []*fn.Def{
		{Name: "draw", Hidden: true, Bind: bound(plan.Double), Kernel: randMaker, Volatile: true},
		{Name: "draws", Hidden: true, Bind: bound(plan.Int), Kernel: drawsMaker, Volatile: true},
	}
}

// drawsMaker draws how often a row is taken by a sample with replacement. The
// arguments are the share, the seed, and the seed with the partition's number added.
func drawsMaker(c *plan.Call, _ *fn.Env) (fn.Kernel, error) {
	share := c.Args[0].(*plan.Literal).Value.(float64)
	seed, _ := fn.ConstantInt(c.Args[1])
	moved, _ := fn.ConstantInt(c.Args[2])
	source := newJavaRandom(seed)
	own := source.long()
	for range moved - seed {
		own = source.long()
	}
	w := newWell(own)
	return func(_ []*chunk.Vector, sel chunk.Sel, n int) (*chunk.Vector, error) {
		out := chunk.Make(plan.Int, n)
		dst := chunk.Values[int32](out)
		for _, i := range fn.Picked(sel, n) {
			dst[i] = w.poisson(share)
		}
		return out, nil
	}, nil
}

// javaRandom is java.util.Random.
type javaRandom uint64

const (
	javaFactor = 0x5DEECE66D
	javaMask   = 1<<48 - 1
)

func newJavaRandom(seed int64) *javaRandom {
	r := javaRandom((uint64(seed) ^ javaFactor) & javaMask)
	return &r
}

func (r *javaRandom) next() int32 {
	*r = (*r*javaFactor + 0xB) & javaMask
	return int32(uint64(*r) >> 16)
}

func (r *javaRandom) long() int64 { return int64(r.next())<<32 + int64(r.next()) }

// well is the generator WELL19937c of Panneton, L'Ecuyer and Matsumoto, seeded and read
// as Apache Commons Math does.
type well struct {
	v     [wellSize]uint32
	index int
}

const wellSize = 624

func newWell(seed int64) *well {
	w := &well{}
	w.v[0], w.v[1] = uint32(uint64(seed)>>32), uint32(seed)
	for i := 2; i < wellSize; i++ {
		l := int64(int32(w.v[i-2]))
		w.v[i] = uint32(1812433253*(l^(l>>30)) + int64(i))
	}
	return w
}

func (w *well) at(k int) *uint32 { return &w.v[(w.index+k)%wellSize] }

func (w *well) next(bits int) uint32 {
	before, earlier := w.at(wellSize-1), w.at(wellSize-2)
	a, b, c, d := *w.at(0), *w.at(70), *w.at(179), *w.at(449)
	z0 := 0x80000000&*before ^ 0x7FFFFFFF&*earlier
	z1 := (a ^ a<<25) ^ (b ^ b>>27)
	z2 := c>>9 ^ (d ^ d>>1)
	z3 := z1 ^ z2
	z4 := z0 ^ (z1 ^ z1<<9) ^ (z2 ^ z2<<21) ^ (z3 ^ z3>>21)
	*w.at(0), *before = z3, z4
	*earlier &= 0x80000000
	w.index = (w.index + wellSize - 1) % wellSize
	z4 ^= z4 << 7 & 0xe46e1700
	z4 ^= z4 << 15 & 0x9b868000
	return z4 >> (32 - bits)
}

func (w *well) float64() float64 {
	high := uint64(w.next(26)) << 26
	return float64(high|uint64(w.next(26))) * 0x1p-52
}

// poisson draws a number with a mean below poissonPivot by multiplying.
func (w *well) poisson(mean float64) int32 {
	if mean <= 0 {
		return 0
	}
	p, r := math.Exp(-mean), 1.0
	for n := int32(0); float64(n) < 1000*mean; n++ {
		if r *= w.float64(); r < p {
			return n
		}
	}
	return int32(1000 * mean)
}
