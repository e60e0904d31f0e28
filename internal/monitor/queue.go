package monitor

// queue holds the events that a subscriber has yet to take. It is a linked
// list, because an event may leave the middle: see M4.
type queue struct {
	head, tail *node
	len        int
	newest     map[place]*node // the newest droppable event of a run
}

type node struct {
	event      Event
	prev, next *node
	// taken is closed when the subscriber took the event or will never do so;
	// nil when nobody waits for it.
	taken chan struct{}
}

// place is what coalesces: the progress events of a run, and its idle events.
type place struct {
	runID string
	kind  Kind
}

func (e Event) droppable() bool { return e.Kind == Progressed || e.Kind == Idle }

// push appends n. When limit events wait already, a droppable event takes the
// place in number, though not in order, of its run's newest one of its kind.
// A run that has none waiting makes room by compacting the queue; if that
// frees nothing the queue grows, by at most two events a run.
func (q *queue) push(n *node, limit int) (dropped int) {
	key := place{n.event.RunID, n.event.Kind}
	droppable := n.event.droppable()
	if droppable && q.len >= limit {
		if old := q.newest[key]; old != nil {
			q.unlink(old)
			dropped = 1
		} else {
			dropped = q.compact()
		}
	}
	n.prev = q.tail
	if q.tail == nil {
		q.head = n
	} else {
		q.tail.next = n
	}
	q.tail = n
	q.len++
	if droppable {
		if q.newest == nil {
			q.newest = map[place]*node{}
		}
		q.newest[key] = n
	}
	return dropped
}

// compact leaves of each run the newest progress and the newest idle event.
func (q *queue) compact() (dropped int) {
	for n := q.head; n != nil; {
		next := n.next
		key := place{n.event.RunID, n.event.Kind}
		if n.event.droppable() && q.newest[key] != n {
			q.unlink(n)
			dropped++
		}
		n = next
	}
	return dropped
}

// pop takes the oldest event, nil when there is none.
func (q *queue) pop() *node {
	n := q.head
	if n != nil {
		q.unlink(n)
	}
	return n
}

func (q *queue) unlink(n *node) {
	if n.prev == nil {
		q.head = n.next
	} else {
		n.prev.next = n.next
	}
	if n.next == nil {
		q.tail = n.prev
	} else {
		n.next.prev = n.prev
	}
	n.prev, n.next = nil, nil
	q.len--
	key := place{n.event.RunID, n.event.Kind}
	if q.newest[key] == n {
		delete(q.newest, key)
	}
}
