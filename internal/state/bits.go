package state

// bits is a set of row numbers.
type bits []uint64

func (b bits) has(i int32) bool { return int(i>>6) < len(b) && b[i>>6]>>(i&63)&1 != 0 }

func (b *bits) set(i int32) {
	for int(i>>6) >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[i>>6] |= 1 << (i & 63)
}

// add is set that tells whether the number is new.
func (b *bits) add(i int32) bool {
	if int(i>>6) < len(*b) {
		word, bit := &(*b)[i>>6], uint64(1)<<(i&63)
		if *word&bit != 0 {
			return false
		}
		*word |= bit
		return true
	}
	b.set(i)
	return true
}

func (b bits) clear(i int32) {
	if int(i>>6) < len(b) {
		b[i>>6] &^= 1 << (i & 63)
	}
}
