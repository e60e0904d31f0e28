package sparkconnect

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/session"
)

// maxTombstones is how many closed sessions, and abandoned operations of a
// session, are remembered.
const (
	maxTombstones          = 1000
	maxOperationTombstones = 10000
)

// key names a session: two users may choose the same id.
type key struct{ user, id string }

// client is one session as the protocol sees it: session's world, and the
// operations that run in it.
type client struct {
	key      key
	serverID string // new with every incarnation
	session  *session.Session
	adopted  bool // somebody else ends it, however long it is idle
	errors   errorLog

	mu         sync.Mutex
	operations map[string]*operation
	ended      *ring // ids of operations that were released or abandoned
	lastUse    time.Time
	listener   *monitor.Subscription // of the bus stream, nil without one
	listening  *operation            // the operation of that stream
	closing    bool                  // the session is gone for its clients
}

// sessions finds clients.
type sessions struct {
	open func(user, id string) *session.Session
	now  func() time.Time

	mu      sync.Mutex
	clients map[key]*client
	leaving map[key]*client // being closed; their clients still say what they have
	closed  *ring
}

func newSessions(open func(user, id string) *session.Session) *sessions {
	return &sessions{open: open, now: time.Now, clients: map[key]*client{}, leaving: map[key]*client{},
		closed: newRing(maxTombstones)}
}

// ring remembers the last strings that were added.
type ring struct {
	most  int
	order []string
	known map[string]bool
}

func newRing(most int) *ring { return &ring{most: most, known: map[string]bool{}} }

func (r *ring) add(s string) {
	if r.known[s] {
		return
	}
	if len(r.order) == r.most {
		delete(r.known, r.order[0])
		r.order = append(r.order[:0], r.order[1:]...)
	}
	r.order = append(r.order, s)
	r.known[s] = true
}

func (k key) tombstone() string { return k.user + "\x00" + k.id }

// get finds a session, making it when make is set. observed is what the client
// believes to be the server's id of it.
func (s *sessions) get(user, id, observed string, create bool) (*client, error) {
	if err := checkUUID(id); err != nil {
		return nil, err
	}
	k := key{user, id}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[k]
	switch {
	case c == nil && s.closed.known[k.tombstone()]:
		return nil, sessionClosed(id)
	case c == nil && !create:
		return nil, sessionNotFound(id)
	case c == nil && observed != "":
		return nil, sessionChanged(id)
	case c == nil:
		c = s.add(k, s.open(user, id))
	case observed != "" && observed != c.serverID:
		return nil, sessionChanged(id)
	}
	c.touch(s.now())
	return c, nil
}

// add registers a session; the lock is held.
func (s *sessions) add(k key, world *session.Session) *client {
	c := &client{
		key: k, serverID: uuid.NewString(), session: world, lastUse: s.now(),
		operations: map[string]*operation{}, ended: newRing(maxOperationTombstones),
	}
	s.clients[k] = c
	return c
}

// clone makes a session that is a copy of another.
func (s *sessions) clone(from *client, id string) (*client, error) {
	if id == "" {
		id = uuid.NewString()
	} else if err := checkUUID(id); err != nil {
		return nil, cloneRefused("TARGET_SESSION_ID_FORMAT", id, "The id of a clone must be a UUID.")
	}
	k := key{from.key.user, id}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients[k] != nil {
		return nil, cloneRefused("TARGET_SESSION_ID_ALREADY_EXISTS", id, "There is a session of this id already.")
	}
	if s.closed.known[k.tombstone()] {
		return nil, cloneRefused("TARGET_SESSION_ID_ALREADY_CLOSED", id, "A session of this id was closed.")
	}
	return s.add(k, from.session.Clone(id)), nil
}

// adopt makes a session known that was made elsewhere.
func (s *sessions) adopt(k key, world *session.Session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients[k] != nil {
		return cloneRefused("TARGET_SESSION_ID_ALREADY_EXISTS", k.id, "There is a session of this id already.")
	}
	s.add(k, world).adopted = true
	return nil
}

// remove takes a session out; it reports nil when there is none. keepName says
// that the id may be used again.
func (s *sessions) remove(k key, keepName bool) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.clients[k]
	delete(s.clients, k)
	if c != nil && !keepName {
		s.closed.add(k.tombstone())
	}
	return c
}

// close takes a session out and ends it. Until it has ended, its client can let
// go of operations. The client is nil when there is no such session.
func (s *sessions) close(ctx context.Context, k key, keepName bool, why string) (*client, error) {
	c := s.remove(k, keepName)
	if c == nil {
		return nil, nil
	}
	s.mu.Lock()
	s.leaving[k] = c
	s.mu.Unlock()
	err := c.close(ctx, why)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving[k] == c {
		delete(s.leaving, k)
	}
	return c, err
}

// departing finds a session that is being closed, nil when it is not.
func (s *sessions) departing(user, id string) *client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leaving[key{user, id}]
}

// all is every session.
func (s *sessions) all() []*client {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*client, 0, len(s.clients))
	for _, c := range s.clients {
		out = append(out, c)
	}
	return out
}

func (c *client) touch(now time.Time) {
	c.mu.Lock()
	c.lastUse = now
	c.mu.Unlock()
}

// idleSince is when the session was last used; a session with a running
// operation is in use now.
func (c *client) idleSince(now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.operations {
		if o.running() {
			return now
		}
	}
	if c.adopted {
		return now
	}
	return c.lastUse
}

// begin registers an operation. When its id is in use by the same request the
// existing one is returned and fresh is false.
func (c *client) begin(o *operation) (existing *operation, fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended.known[o.id] {
		return nil, false, operationAbandoned(o.id)
	}
	if other := c.operations[o.id]; other != nil {
		if string(other.request) != string(o.request) {
			return nil, false, operationExists(o.id)
		}
		return other, false, nil
	}
	c.operations[o.id] = o
	return o, true, nil
}

// operation finds a running or kept operation, nil when there is none.
func (c *client) operation(id string) *operation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.operations[id]
}

// end forgets an operation and stops it if it still runs. It reports whether
// there was one.
func (c *client) end(id string) bool {
	c.mu.Lock()
	o := c.operations[id]
	delete(c.operations, id)
	if o != nil {
		c.ended.add(id)
	}
	c.mu.Unlock()
	if o == nil {
		return false
	}
	o.forget()
	o.interrupt(operationCanceled())
	return true
}

// running lists the operations that satisfy a condition and have not ended.
func (c *client) running(want func(*operation) bool) []*operation {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*operation
	for _, o := range c.operations {
		if want(o) && o.running() {
			out = append(out, o)
		}
	}
	return out
}

// abandon ends operations that nobody has listened to for too long.
func (c *client) abandon(now time.Time) {
	c.mu.Lock()
	var ids []string
	for id, o := range c.operations {
		if o.abandoned(now) {
			ids = append(ids, id)
		}
	}
	c.mu.Unlock()
	for _, id := range ids {
		c.end(id)
	}
}

// close ends the session: its queries stop and say so to their listener, the
// listener's stream ends cleanly, everything else is interrupted. why is what the
// pages say of the queries.
func (c *client) close(ctx context.Context, why string) error {
	c.mu.Lock()
	c.closing = true
	listening := c.listening
	c.mu.Unlock()
	err := c.session.Release(ctx, why)
	// The stream's own end tells its client what became of it.
	wanted := listening != nil && listening.attached()
	_ = c.endListening()
	if wanted {
		// The client closes the connection once it knows that the session is gone.
		listening.awaitTaken(farewellWait)
	}
	for _, o := range c.running(func(*operation) bool { return true }) {
		o.interrupt(operationCanceled())
	}
	return err
}
