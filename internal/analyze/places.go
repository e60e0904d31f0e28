package analyze

// places numbers the streaming scans of a query in the order of its logs. What
// is resolved again, as a use of a named query of a WITH, gets its numbers again.
type places struct {
	last   int
	noted  []int // given since noting began
	replay *replay
}

// replay is the numbers that are left to give again.
type replay struct{ left []int }

// next is the number of the scan at hand.
func (p *places) next() int {
	var place int
	if p.replay != nil {
		place, p.replay.left = p.replay.left[0], p.replay.left[1:]
	} else {
		p.last++
		place = p.last
	}
	p.noted = append(p.noted, place)
	return place
}

// noting lists the numbers that resolving something gives.
func (p *places) noting(resolve func() error) ([]int, error) {
	before := len(p.noted)
	err := resolve()
	return p.noted[before:len(p.noted):len(p.noted)], err
}

// again resolves something for another time.
func (p *places) again(given []int, resolve func()) {
	saved, noted := p.replay, p.noted
	p.replay = &replay{given}
	resolve()
	p.replay, p.noted = saved, noted
}
