package codec

import (
	"math"
	"math/bits"
)

// AppendDouble writes a double as Java 17's Double.toString does: always a
// point, an exponent outside [1e-3, 1e7), and sometimes a digit more than the
// shortest text needs.
func AppendDouble(dst []byte, f float64) []byte {
	b := math.Float64bits(f)
	if dst, done := appendSpecial(dst, f); done {
		return dst
	}
	frac, exp := b&(1<<52-1), int(b>>52&0x7ff)
	significant := 53
	if exp == 0 {
		zeros := bits.LeadingZeros64(frac)
		frac <<= zeros - 11
		exp, significant = 12-zeros, 64-zeros
	} else {
		frac |= 1 << 52
	}
	return appendBinary(dst, f < 0, binaryFloat{frac, exp - 1023, significant})
}

// AppendFloat writes a float as Java 17's Float.toString does.
func AppendFloat(dst []byte, f float32) []byte {
	b := math.Float32bits(f)
	if dst, done := appendSpecial(dst, float64(f)); done {
		return dst
	}
	frac, exp := b&(1<<23-1), int(b>>23&0xff)
	significant := 24
	if exp == 0 {
		zeros := bits.LeadingZeros32(frac)
		frac <<= zeros - 8
		exp, significant = 9-zeros, 32-zeros
	} else {
		frac |= 1 << 23
	}
	return appendBinary(dst, f < 0, binaryFloat{uint64(frac) << 29, exp - 127, significant})
}

// appendSpecial writes what has no digits of its own.
func appendSpecial(dst []byte, f float64) ([]byte, bool) {
	switch {
	case f != f:
		return append(dst, "NaN"...), true
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...), true
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...), true
	case f != 0:
		return dst, false
	case math.Signbit(f):
		return append(dst, "-0.0"...), true
	default:
		return append(dst, "0.0"...), true
	}
}

// binaryFloat is a positive number frac·2^(exp-52), bit 52 of frac set, of which
// significant bits count.
type binaryFloat struct {
	frac        uint64
	exp         int
	significant int
}

// decimal is 0.d1d2d3…·10^exp.
type decimal struct {
	digits [20]byte
	n, exp int
}

// The algorithm below is the digit generation of Steele and White as the JDK
// had it until 18, because its inexact stopping test decides which digits
// users see. Names: a number is b/s·10^exp with 1 ≤ b/s < 10, and m is half of
// the distance to its neighbours on b's scale; each of the three is
// f·5^five·2^two.
type scaled struct{ five, two int }

type ratio struct {
	frac    uint64 // the odd part of the number
	b, s, m scaled
	exp     int
	bBits   int // bits that b and 10·s take at most
	sBits   int
}

func appendBinary(dst []byte, negative bool, x binaryFloat) []byte {
	var d decimal
	if !d.whole(x) {
		r := newRatio(x)
		switch {
		case r.bBits < 32 && r.sBits < 32:
			generate[int32](&d, r)
		case r.bBits < 64 && r.sBits < 64:
			generate[int64](&d, r)
		default:
			d.generateWide(r)
		}
	}
	if negative {
		dst = append(dst, '-')
	}
	return d.append(dst)
}

// whole takes the digits of integers that fit a long; digits beyond the
// precision of a float are rounded away.
func (d *decimal) whole(x binaryFloat) bool {
	fracBits := 53 - bits.TrailingZeros64(x.frac)
	if x.exp > 62 || x.exp < -21 || fracBits-x.exp-1 > 0 {
		return false
	}
	v := x.frac
	if x.exp >= 52 {
		v <<= x.exp - 52
	} else {
		v >>= 52 - x.exp
	}
	drop := 0
	if p := x.exp - x.significant - 1; x.exp > x.significant && p > 1 {
		drop = p * 30103 / 100000
	}
	if drop > 0 {
		pow := pow10[drop]
		rest := v % pow
		v /= pow
		if rest >= pow>>1 {
			v++
		}
	}
	for v%10 == 0 {
		v /= 10
		drop++
	}
	for p := v; p > 0; p /= 10 {
		d.n++
	}
	for i := d.n - 1; i >= 0; i-- {
		d.digits[i] = byte('0' + v%10)
		v /= 10
	}
	d.exp = drop + d.n
	return true
}

func newRatio(x binaryFloat) ratio {
	tail := bits.TrailingZeros64(x.frac)
	fracBits := 53 - tail
	tiny := max(0, fracBits-x.exp-1)
	r := ratio{frac: x.frac >> tail, exp: estimateExp(x)}
	r.b.five = max(0, -r.exp)
	r.b.two = r.b.five + tiny + x.exp
	r.s.five = max(0, r.exp)
	r.s.two = r.s.five + tiny
	r.m.five = r.b.five
	r.m.two = r.b.two - x.significant
	r.b.two -= fracBits - 1
	common := min(r.b.two, r.s.two)
	r.b.two -= common
	r.s.two -= common
	r.m.two -= common
	if fracBits == 1 {
		// Below a power of two the neighbour is half as far away.
		r.m.two--
	}
	if r.m.two < 0 {
		r.b.two -= r.m.two
		r.s.two -= r.m.two
		r.m.two = 0
	}
	r.bBits = fracBits + r.b.two + bitsOf5(r.b.five)
	r.sBits = r.s.two + 1 + bitsOf5(r.s.five+1)
	return r
}

// estimateExp is floor(log10 x), or one more.
func estimateExp(x binaryFloat) int {
	mantissa := math.Float64frombits(1023<<52 | x.frac&(1<<52-1))
	// The conversions keep the compiler from fusing the operations.
	log := float64((mantissa-1.5)*0.289529654) + 0.176091259
	log += float64(float64(x.exp) * 0.301029995663981)
	return int(math.Floor(log))
}

// bitsOf5 is the length of 5^n in bits, from 27 on the JDK's upper bound.
func bitsOf5(n int) int {
	switch {
	case n == 0:
		return 0
	case n < 27:
		return bits.Len64(pow5[n])
	default:
		return 3 * n
	}
}

// generate develops digits while all numbers fit T, wrap-around included.
func generate[T int32 | int64](d *decimal, r ratio) {
	b := T(r.frac) * T(pow5[r.b.five]) << r.b.two
	s := T(pow5[r.s.five]) << r.s.two
	m := T(pow5[r.m.five]) << r.m.two
	tens := s * 10
	q := b / s
	b = 10 * (b % s)
	m *= 10
	low, high := b < m, b+m > tens
	low, high = d.first(int(q), r.exp, low, high)
	for !low && !high {
		q = b / s
		b = 10 * (b % s)
		m *= 10
		low, high = true, true
		if m > 0 {
			low, high = b < m, b+m > tens
		}
		d.push(int(q))
	}
	rest := b<<1 - tens
	d.finish(low, high, sign(int64(rest)))
}

func sign(x int64) int {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	default:
		return 0
	}
}

// first takes the first digit, which is dropped when the exponent was
// estimated one too high, and says whether to stop after it.
func (d *decimal) first(q, exp int, low, high bool) (bool, bool) {
	if q == 0 && !high {
		exp--
	} else {
		d.push(q)
	}
	d.exp = exp + 1
	if exp < -3 || exp >= 8 {
		// Texts with an exponent have a second digit anyway.
		return false, false
	}
	return low, high
}

func (d *decimal) push(q int) {
	d.digits[d.n] = byte('0' + q)
	d.n++
}

// finish rounds the last digit; rest compares what is left with a half.
func (d *decimal) finish(low, high bool, rest int) {
	switch {
	case !high:
	case !low, rest > 0, rest == 0 && d.digits[d.n-1]&1 != 0:
		d.roundUp()
	}
}

func (d *decimal) roundUp() {
	i := d.n - 1
	for i > 0 && d.digits[i] == '9' {
		d.digits[i] = '0'
		i--
	}
	if d.digits[i] == '9' {
		d.digits[i] = '1'
		d.exp++
		return
	}
	d.digits[i]++
}

func (d *decimal) append(dst []byte) []byte {
	digits := d.digits[:d.n]
	switch {
	case d.exp > 0 && d.exp < 8:
		for i := range d.exp {
			if i < d.n {
				dst = append(dst, digits[i])
			} else {
				dst = append(dst, '0')
			}
		}
		dst = append(dst, '.')
		if d.n <= d.exp {
			return append(dst, '0')
		}
		return append(dst, digits[d.exp:]...)
	case d.exp <= 0 && d.exp > -3:
		dst = append(dst, "0.00"[:2-d.exp]...)
		return append(dst, digits...)
	}
	dst = append(dst, digits[0], '.')
	if d.n > 1 {
		dst = append(dst, digits[1:]...)
	} else {
		dst = append(dst, '0')
	}
	dst = append(dst, 'E')
	return appendInt(dst, int64(d.exp-1))
}
