package monitor

// history is a ring of the latest entries.
type history struct {
	ring []*Progress
	next int // where the following entry goes
	full bool
}

// newHistory keeps one entry less than limit, as Spark's trimming does: the
// default of 100 keeps 99, a limit of 1 none.
func newHistory(limit int) history {
	return history{ring: make([]*Progress, max(0, limit-1))}
}

func (h *history) add(p *Progress) {
	if len(h.ring) == 0 {
		return
	}
	h.ring[h.next] = p
	h.next++
	if h.next == len(h.ring) {
		h.next, h.full = 0, true
	}
}

// last is the newest entry, nil before the first.
func (h *history) last() *Progress {
	if len(h.ring) == 0 {
		return nil
	}
	return h.ring[(h.next+len(h.ring)-1)%len(h.ring)]
}

// all copies the entries, oldest first.
func (h *history) all() []*Progress {
	if !h.full {
		return append([]*Progress(nil), h.ring[:h.next]...)
	}
	out := append(make([]*Progress, 0, len(h.ring)), h.ring[h.next:]...)
	return append(out, h.ring[:h.next]...)
}
