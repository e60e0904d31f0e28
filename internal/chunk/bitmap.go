package chunk

import "math/bits"

// Bitmap is validity in Arrow's form: bit i of byte i/8, set when valid. A nil
// Bitmap says that every row is valid.
type Bitmap []byte

// NewBitmap is n set bits.
func NewBitmap(n int) Bitmap {
	b := make(Bitmap, (n+7)/8)
	for i := range b {
		b[i] = 0xff
	}
	return b
}

// Get reports whether row i is valid.
func (b Bitmap) Get(i int) bool { return b == nil || b[i>>3]&(1<<(i&7)) != 0 }

// Set marks row i as valid.
func (b Bitmap) Set(i int) { b[i>>3] |= 1 << (i & 7) }

// Clear marks row i as NULL.
func (b Bitmap) Clear(i int) { b[i>>3] &^= 1 << (i & 7) }

// CountNulls is the number of NULLs among the first n rows.
func (b Bitmap) CountNulls(n int) int {
	if b == nil {
		return 0
	}
	valid := 0
	for _, x := range b[:n/8] {
		valid += bits.OnesCount8(x)
	}
	if n%8 != 0 {
		valid += bits.OnesCount8(b[n/8] & (1<<(n%8) - 1))
	}
	return n - valid
}

// And is the rows valid in both; n is their number.
func (b Bitmap) And(o Bitmap, n int) Bitmap {
	switch {
	case b == nil:
		return o
	case o == nil:
		return b
	}
	out := make(Bitmap, (n+7)/8)
	for i := range out {
		out[i] = b[i] & o[i]
	}
	return out
}

// Slice is rows [from, to). It shares memory when from is a multiple of 8.
func (b Bitmap) Slice(from, to int) Bitmap {
	if b == nil {
		return nil
	}
	if from%8 == 0 {
		return b[from/8 : (to+7)/8]
	}
	out := make(Bitmap, (to-from+7)/8)
	shift := from % 8
	for i := range out {
		at := from/8 + i
		out[i] = b[at] >> shift
		if at+1 < len(b) {
			out[i] |= b[at+1] << (8 - shift)
		}
	}
	return out
}

// grow is b long enough for n rows, the new ones valid.
func (b Bitmap) grow(n int) Bitmap {
	for len(b)*8 < n {
		b = append(b, 0xff)
	}
	return b
}
