package alert

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/vfs"
)

const (
	// evaluateEvery is how often rules are looked at.
	evaluateEvery = time.Second
	// newsFor is how long before its first look a run may have ended to be news (A5).
	newsFor = 10 * time.Minute
	// keptPast is how many resolved alerts are kept, and for how long.
	keptPast     = 500
	keptPastTime = 24 * time.Hour
	// mostAlerts is how many alerts are pending or firing at once.
	mostAlerts = 5000
)

// Env is what alerts need of the server.
type Env struct {
	Registry *monitor.Registry
	Log      *slog.Logger
	Files    vfs.FS // where the files below are
	// File has the rules; "" and a file that is not there: the shipped rules, nobody is told.
	File string
	// State keeps alerts and silences over restarts; "" keeps nothing.
	State string
	// Link is where the pages are, for people who are told; a file may say otherwise.
	Link string
	// Server is how the server calls itself.
	Server string
	// Variable looks up the environment, for secrets.
	Variable func(name string) (value string, ok bool)
}

// State is where an alert is in its life.
type State string

// The states of an alert; the last three are its ends.
const (
	Pending  State = "pending"
	Firing   State = "firing"
	Resolved State = "resolved" // its condition holds no more
	// Dismissed is one whose query somebody dismissed, Unwatched one whose query is there
	// no more: neither was mended.
	Dismissed State = "dismissed"
	Unwatched State = "unwatched"
)

// over tells whether it is an end.
func (s State) over() bool { return s != Pending && s != Firing }

// word is a state as messages say it.
func (s State) word() string {
	if s == Unwatched {
		return "no longer watched"
	}
	return string(s)
}

// alert is a rule that holds, or held, for a query.
type alert struct {
	id       string
	rule     *rule
	query    subject
	state    State
	held     time.Time // since when the condition holds
	clear    time.Time // since when it does not any more; zero while it holds
	fired    time.Time
	ended    time.Time
	text     string
	why      []string
	todo     []string
	silenced bool
	told     map[string]*told // by notifier
}

// told is what a notifier knows of an alert.
type told struct {
	at        time.Time // when a message about it was last queued
	delivered bool      // one has arrived
	pending   bool      // it is waiting in its group
	wantsEnd  bool      // it is to be told when the alert is over
}

// subject is the query that an alert is about.
type subject struct{ id, runID, name, application, engine string }

type key struct{ rule, query string }

// Alerts are the rules in force with what they found.
type Alerts struct {
	env   Env
	begun time.Time
	stop  context.CancelFunc
	ended sync.WaitGroup

	mu       sync.Mutex
	config   *config
	problem  string // why the last reload changed nothing
	live     map[key]*alert
	past     []*alert // resolved, oldest first
	silences []silence
	senders  map[string]*sender
	groups   map[string]*group
	counts   map[string]*counted // by query
	// left is since when a server runs without a query that ran when one before it ended,
	// by run: a restart does not begin that anew.
	left    map[string]time.Time
	dropped int64 // alerts beyond mostAlerts
	dirty   bool  // the state differs from that on disk
	unsaved bool  // the last attempt to save it failed
}

// Start reads the rules and begins to evaluate them.
func Start(env Env) (*Alerts, error) {
	a, err := open(env, time.Now())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	a.ended.Go(func() {
		tick := time.NewTicker(evaluateEvery)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				a.step(now)
			case <-ctx.Done():
				return
			}
		}
	})
	return a, nil
}

// open reads the rules.
func open(env Env, now time.Time) (*Alerts, error) {
	a := &Alerts{
		env: env, begun: now, stop: func() {}, live: map[key]*alert{}, senders: map[string]*sender{},
		groups: map[string]*group{}, counts: map[string]*counted{}, left: map[string]time.Time{},
	}
	c, err := readConfig(&env)
	if err != nil {
		return nil, err
	}
	a.adopt(c)
	return a, a.restore(now)
}

// Reload reads the file of rules anew. When it is wrong, what was in force stays (A4).
func (a *Alerts) Reload() error {
	c, err := readConfig(&a.env)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.problem = err.Error()
		return err
	}
	a.problem = ""
	a.adopt(c)
	return nil
}

// adopt puts a configuration in force. Alerts of rules that are no more are over
// without a word; of those that stay the rule is the new one.
func (a *Alerts) adopt(c *config) {
	a.config = c
	byName := map[string]*rule{}
	for _, r := range c.rules {
		byName[r.name] = r
	}
	for k, one := range a.live {
		if r, ok := byName[k.rule]; ok {
			one.rule = r
		} else {
			delete(a.live, k)
		}
	}
	senders := map[string]*sender{}
	for _, n := range c.notifiers {
		if old := a.senders[n.name]; old != nil && old.to.same(&n) {
			senders[n.name] = old
			delete(a.senders, n.name)
			continue
		}
		senders[n.name] = a.newSender(n)
		a.groups[n.name] = &group{}
	}
	for name, old := range a.senders {
		old.leave()
		if senders[name] == nil {
			delete(a.groups, name)
		}
	}
	a.senders = senders
	a.dirty = true
}

// Close ends evaluation and lets notifiers send what is queued for a moment.
func (a *Alerts) Close() {
	a.stop()
	a.ended.Wait()
	a.mu.Lock()
	senders := a.senders
	a.senders = nil
	a.mu.Unlock()
	for _, s := range senders {
		s.leave()
	}
	for _, s := range senders {
		<-s.done
	}
	a.save()
}

// step looks at every rule for every query, tells of what changed and saves it.
func (a *Alerts) step(now time.Time) {
	queries := a.env.Registry.Queries()
	list := make([]facts, len(queries))
	for i, q := range queries {
		list[i] = factsOf(q, now)
	}
	a.mu.Lock()
	a.endSilences(now)
	seen := make(map[string]bool, len(list))
	var fired []*alert
	for i := range list {
		f := &list[i]
		seen[f.snapshot.ID] = true
		a.count(f)
		a.noteLeft(f)
		old := f.ended && !f.snapshot.Left && f.snapshot.EndedAt.Before(a.begun.Add(-newsFor))
		for _, r := range a.config.rules {
			if old && a.live[key{r.name, f.snapshot.ID}] == nil {
				continue // what fired then is seen to its end, and nothing begins
			}
			if one := a.judge(r, f); one != nil {
				fired = append(fired, one)
			}
		}
	}
	a.forget(seen, now)
	a.tell(now)
	a.mu.Unlock()
	for _, one := range fired {
		a.mark(one)
	}
	a.save()
}

// noteLeft finds out since when a server runs without a query. It requires mu.
func (a *Alerts) noteLeft(f *facts) {
	if !f.snapshot.Left {
		return
	}
	since, known := a.left[f.snapshot.RunID]
	if !known {
		since = a.begun
		a.left[f.snapshot.RunID] = since
		a.dirty = true
	}
	f.left = since
}

func factsOf(q *monitor.Query, now time.Time) facts {
	f := facts{now: now, query: q, snapshot: q.Snapshot(), health: q.Health()}
	f.ended = f.snapshot.State == monitor.Stopped || f.snapshot.State == monitor.Failed
	f.failures, f.lastDay = q.FailedSince(now.Add(-latelySpan)), q.FailedSince(now.Add(-24*time.Hour))
	return f
}

// count fills in what is new in the query's sums. It requires mu.
func (a *Alerts) count(f *facts) {
	c := a.counts[f.snapshot.ID]
	if c == nil {
		c = &counted{}
		a.counts[f.snapshot.ID] = c
	}
	losses, _ := f.query.Losses()
	f.lately = c.rise(f.now, lately{losses: float64(losses), events: float64(f.query.Unheard())})
}

// judge moves the alert of a rule and a query on. It gives the alert when that fired
// or is over just now. It requires mu.
func (a *Alerts) judge(r *rule, f *facts) *alert {
	k := key{r.name, f.snapshot.ID}
	one := a.live[k]
	holds := r.holds.holds(f)
	if holds == unsure && f.ended {
		holds = no
	}
	switch {
	case one == nil && holds == yes:
		if len(a.live) >= mostAlerts {
			a.dropped++
			return nil
		}
		one = &alert{
			rule: r, state: Pending, held: f.now, told: map[string]*told{},
			query: subject{f.snapshot.ID, f.snapshot.RunID, f.snapshot.ShownName(), f.snapshot.Application,
				engineOf(&f.snapshot)},
		}
		one.id = idOf(k, f.now)
		a.live[k] = one
	case one == nil:
		return nil
	case one.state == Pending && holds != yes:
		delete(a.live, k)
		return nil
	case one.state == Firing && holds == no:
		if one.clear.IsZero() {
			one.clear = f.now
		}
		if f.now.Sub(one.clear) < r.keep && !f.ended {
			return nil
		}
		end := Resolved
		if f.snapshot.Left { // what it was about ended with its server
			end = Unwatched
		}
		a.finish(k, one, end, f.now)
		return one
	}
	if holds != yes {
		return nil
	}
	one.clear = time.Time{}
	one.text, one.why, one.todo = r.says(f), f.health.Why, f.health.Todo
	if one.state == Pending && f.now.Sub(one.held) >= r.wait {
		one.state, one.fired, a.dirty = Firing, f.now, true
		return one
	}
	return nil
}

// finish ends an alert. It requires mu.
func (a *Alerts) finish(k key, one *alert, end State, now time.Time) {
	one.state, one.ended = end, now
	delete(a.live, k)
	a.past = append(a.past, one)
	a.dirty = true
}

// forget ends the alerts of queries that the registry has forgotten, and drops what
// is long over. It requires mu.
func (a *Alerts) forget(seen map[string]bool, now time.Time) {
	for k, one := range a.live {
		switch {
		case seen[k.query]:
		case one.state == Firing && a.dismissed(k.query):
			a.finish(k, one, Dismissed, now)
		case one.state == Firing && a.env.Registry.Find(k.query) != nil: // one of its name runs instead
			a.finish(k, one, Resolved, now)
		case one.state == Firing && now.Sub(a.begun) < newsFor:
			// After a restart a query may come back with its alert.
		case one.state == Firing:
			a.finish(k, one, Unwatched, now)
		default:
			delete(a.live, k)
		}
	}
	for runID := range a.left {
		if q := a.env.Registry.Find(runID); now.Sub(a.begun) > newsFor && (q == nil || !q.Snapshot().Left) {
			delete(a.left, runID)
			a.dirty = true
		}
	}
	for id := range a.counts {
		if !seen[id] {
			delete(a.counts, id)
		}
	}
	old := slices.IndexFunc(a.past, func(one *alert) bool { return now.Sub(one.ended) < keptPastTime })
	if old < 0 {
		old = len(a.past)
	}
	a.past = slices.Delete(a.past, 0, max(old, len(a.past)-keptPast))
}

// dismissed tells whether somebody dismissed a query.
func (a *Alerts) dismissed(id string) bool {
	q := a.env.Registry.Find(id)
	return q != nil && !q.Snapshot().DismissedAt.IsZero()
}

// idOf names an alert: the same rule and query at another time is another one.
func idOf(k key, at time.Time) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", k.rule, k.query, at.UnixNano()))
	return hex.EncodeToString(sum[:6])
}

// mark shows the alert among the events of its query.
func (a *Alerts) mark(one *alert) {
	q := a.env.Registry.Find(one.query.id)
	if q == nil {
		return
	}
	if one.state == Firing {
		q.Mark(health.Mark{At: one.fired, Kind: "alert", Text: "Alert: " + one.rule.name})
		a.env.Log.Warn("an alert fires", "rule", one.rule.name, "severity", string(one.rule.severity),
			"query", one.query.name, "text", health.Plain(one.text))
		return
	}
	q.Mark(health.Mark{At: one.ended, Kind: "alert", Text: "Alert is over: " + one.rule.name})
	a.env.Log.Info("an alert is over", "rule", one.rule.name, "query", one.query.name, "end", one.state.word())
}

// worst orders alerts: what fires before what is over, the worst and newest first.
func worst(x, y *View) int {
	order := map[string]int{"firing": 1, "acknowledged": 2, "pending": 3} // 0: over
	order[x.State], order[y.State] = cmp.Or(order[x.State], 4), cmp.Or(order[y.State], 4)
	return cmp.Or(
		cmp.Compare(order[x.State], order[y.State]),
		cmp.Compare(slices.Index(severities, string(x.Severity)), slices.Index(severities, string(y.Severity))),
		y.FiredAt.Compare(x.FiredAt), cmp.Compare(x.ID, y.ID),
	)
}

var errNoSuchAlert = errors.New("there is no such alert; it may be over")
