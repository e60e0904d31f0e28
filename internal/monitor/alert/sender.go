package alert

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// queued is how many messages wait for a notifier at most.
	queued = 100
	// giveUpAfter is how long a message is tried.
	giveUpAfter = 10 * time.Minute
	// attemptWithin is how long one try may take.
	attemptWithin = 15 * time.Second
	// firstPause and longestPause are between tries; each pause is twice the one before.
	firstPause   = time.Second
	longestPause = time.Minute
	// drainFor is how long a notifier that is left may go on sending.
	drainFor = 3 * time.Second
)

// receiver sends messages to one place.
type receiver interface {
	send(ctx context.Context, m *message) error
	target() string // the place, without secrets
}

// notifierKind is a way to tell people.
type notifierKind struct {
	name   string
	single bool // one alert in a message
	// resend is how often a receiver wants to hear of what fires, whatever users say; 0: as they say.
	resend time.Duration
	read   func(s *secrets, n *node) (receiver, error)
}

// kinds are all of them.
var kinds = []notifierKind{webhookKind, slackKind, pagerdutyKind, alertmanagerKind, emailKind, execKind}

func kindsOfNotifiers() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// refusedError is an answer that the same message would get again.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

// laterError is an answer that names the time of the next try.
type laterError struct {
	text  string
	after time.Duration
}

func (e *laterError) Error() string { return e.text }

// sender sends the messages of one notifier, one after the other.
type sender struct {
	to     notifier
	alerts *Alerts
	queue  chan *message
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	once   sync.Once

	mu      sync.Mutex
	counts  NotifierView
	failing bool
}

func (a *Alerts) newSender(n notifier) *sender {
	s := &sender{to: n, alerts: a, queue: make(chan *message, queued), done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.counts = NotifierView{Name: n.name, Kind: n.kind.name, Target: n.receiver.target()}
	go s.run()
	return s
}

// offer queues a message. A full queue drops it, which is counted.
func (s *sender) offer(m *message) bool {
	select {
	case s.queue <- m:
		return true
	default:
	}
	s.mu.Lock()
	s.counts.Dropped++
	s.mu.Unlock()
	s.alerts.env.Log.Warn("a message about alerts was dropped: too many wait for their notifier",
		"notifier", s.to.name, "waiting", len(s.queue))
	return false
}

// leave lets the sender end when it has sent what is queued, or after a while.
func (s *sender) leave() {
	s.once.Do(func() {
		close(s.queue)
		time.AfterFunc(drainFor, s.cancel)
	})
}

func (s *sender) run() {
	defer close(s.done)
	defer s.cancel()
	for m := range s.queue {
		err := s.deliver(m)
		now := time.Now()
		s.note(err, now)
		s.alerts.heard(s.to.name, m, err, now)
	}
}

// deliver tries until the message has arrived, is refused, or too old.
func (s *sender) deliver(m *message) error {
	ctx, cancel := context.WithTimeout(s.ctx, giveUpAfter)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		within, stop := context.WithTimeout(ctx, attemptWithin)
		err := s.to.receiver.send(within, m)
		stop()
		var refused *refusedError
		if err == nil || errors.As(err, &refused) {
			return err
		}
		s.try(err)
		wait := pause
		var later *laterError
		if errors.As(err, &later) {
			wait = max(wait, min(later.after, longestPause))
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("given up: %w", err)
		}
	}
}

// try notes that a message has not arrived yet.
func (s *sender) try(err error) {
	s.mu.Lock()
	s.counts.LastError = cut(err.Error(), 300)
	first := !s.failing
	s.failing = true
	s.mu.Unlock()
	if first { // the same again would only fill the log
		s.alerts.env.Log.Warn("a message about alerts has not arrived; it is tried again",
			"notifier", s.to.name, "err", err)
	}
}

// note counts how a message went.
func (s *sender) note(err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing = err != nil; err == nil {
		s.counts.Sent++
		s.counts.LastSent, s.counts.LastError = now, ""
		return
	}
	s.counts.Failed++
	s.counts.LastFailed, s.counts.LastError = now, cut(err.Error(), 300)
	s.alerts.env.Log.Error("a message about alerts was lost", "notifier", s.to.name, "err", err)
}

func (s *sender) view() NotifierView {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.counts
	v.Waiting = int64(len(s.queue))
	return v
}
