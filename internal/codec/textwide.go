package codec

import "math/bits"

// wide is an unsigned integer of up to 1,280 bits, enough for the scaled parts
// of any double: 10^308 and 5^324 both stay below 1,100 bits. Only the first n
// words count; the numbers of one calculation share n.
type wide struct {
	w [20]uint64
	n int
}

// generateWide is generate for numbers that do not fit a machine word.
func (d *decimal) generateWide(r ratio) {
	var b, s, m, tens wide
	s.set(1, r.s)
	// Head room: s gets twelve free bits in its top word, so that 1,000·s, the
	// most that b and m can reach, has as many words as s, while a quotient of
	// top words is at most one too small.
	shift := s.spare()
	r.b.two += shift
	r.s.two += shift
	r.m.two += shift
	s.set(1, r.s)
	n := s.n
	b.set(r.frac, r.b)
	m.set(1, r.m)
	s.n, b.n, m.n, tens.n = n, n, n, n
	tens.w = s.w
	tens.times10()

	q := b.divide(&s)
	m.times10()
	low, high := d.test(&b, &m, &tens)
	low, high = d.first(q, r.exp, low, high)
	for !low && !high {
		q = b.divide(&s)
		m.times10()
		low, high = d.test(&b, &m, &tens)
		d.push(q)
	}
	rest := 0
	if low && high {
		b.add(b)
		rest = b.compare(&tens)
	}
	d.finish(low, high, rest)
}

// test is the stopping rule: the remainder is within m of this digit, or of
// the next one. The sum may carry out of the top word.
func (d *decimal) test(b, m, tens *wide) (low, high bool) {
	sum := *b
	carry := sum.add(*m)
	return b.compare(m) < 0, carry || sum.compare(tens) >= 0
}

// set makes v·5^five·2^two.
func (x *wide) set(v uint64, k scaled) {
	*x = wide{n: 1}
	x.w[0] = v
	five := k.five
	for ; five >= 27; five -= 27 {
		x.multiply(pow5[27])
	}
	x.multiply(pow5[five])
	x.shift(k.two)
}

func (x *wide) multiply(f uint64) {
	var carry uint64
	for i := range x.n {
		hi, lo := bits.Mul64(x.w[i], f)
		lo, c := bits.Add64(lo, carry, 0)
		x.w[i], carry = lo, hi+c
	}
	if carry > 0 {
		x.w[x.n] = carry
		x.n++
	}
}

func (x *wide) shift(by int) {
	words, rest := by/64, by%64
	for i := x.n; i >= 0; i-- {
		v := x.w[i] << rest
		if rest > 0 && i > 0 {
			v |= x.w[i-1] >> (64 - rest)
		}
		x.w[i+words] = v
	}
	clear(x.w[:words])
	x.n += words + 1
	for x.n > 1 && x.w[x.n-1] == 0 {
		x.n--
	}
}

// spare is the shift that leaves the top word of x with exactly twelve leading
// zero bits, in a new word if need be.
func (x *wide) spare() int {
	return (bits.LeadingZeros64(x.w[x.n-1]) + 52) % 64
}

// divide leaves 10·(x mod s) in x and returns x/s, a digit because x < 10·s.
func (x *wide) divide(s *wide) int {
	top := x.n - 1
	q := x.w[top] / (s.w[top] + 1)
	if q > 0 {
		x.subtract(s, q)
	}
	for x.compare(s) >= 0 {
		x.subtract(s, 1)
		q++
	}
	x.times10()
	return int(q)
}

func (x *wide) subtract(s *wide, times uint64) {
	var borrow, carry uint64
	for i := range x.n {
		hi, lo := bits.Mul64(s.w[i], times)
		lo, c := bits.Add64(lo, carry, 0)
		carry = hi + c
		x.w[i], borrow = bits.Sub64(x.w[i], lo, borrow)
	}
}

func (x *wide) times10() {
	var carry uint64
	for i := range x.n {
		hi, lo := bits.Mul64(x.w[i], 10)
		lo, c := bits.Add64(lo, carry, 0)
		x.w[i], carry = lo, hi+c
	}
}

func (x *wide) add(y wide) bool {
	var carry uint64
	for i := range x.n {
		x.w[i], carry = bits.Add64(x.w[i], y.w[i], carry)
	}
	return carry > 0
}

func (x *wide) compare(y *wide) int {
	for i := x.n - 1; i >= 0; i-- {
		if x.w[i] != y.w[i] {
			if x.w[i] < y.w[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}
