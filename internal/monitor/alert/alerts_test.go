package alert

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/vfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mailbox is a receiver that keeps what it is told, as titles; fail makes it refuse.
type mailbox struct {
	mu   sync.Mutex
	got  []string
	fail error
}

func (m *mailbox) target() string { return "mailbox" }

func (m *mailbox) send(_ context.Context, msg *message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	var all []string
	for i := range msg.list {
		all = append(all, msg.list[i].query.name+" "+msg.list[i].rule+" "+msg.list[i].status())
	}
	m.got = append(m.got, strings.Join(all, ", "))
	return nil
}

func (m *mailbox) failing(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

// taken gives what has come since it was asked last.
func (m *mailbox) taken() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	got := strings.Join(m.got, "; ")
	m.got = nil
	return got
}

// started is a query that runs, and its alerts with a mailbox behind the file's rules.
func started(t *testing.T, file string) (*Alerts, *monitor.Query, *mailbox) {
	t.Helper()
	e := testEnv(t, file)
	e.State = "/weir/alerts.state.json"
	a := begin(t, e)
	return a, run(e.Registry, "orders", "11111111-0000-4000-8000-000000000000"),
		a.senders["box"].to.receiver.(*mailbox)
}

// begin starts alerts that tell a mailbox named box. Where the file has rules, those
// are all.
func begin(t *testing.T, e Env) *Alerts {
	t.Helper()
	a, err := open(e, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	box := &notifierKind{name: "box"}
	c := *a.config
	if own := slices.DeleteFunc(slices.Clone(c.rules), func(r *rule) bool { return r.shipped }); len(own) > 0 {
		c.rules = own
	}
	c.notifiers = append(c.notifiers, notifier{
		name: "box", kind: box, receiver: &mailbox{}, repeat: c.repeat, resolved: true,
	})
	a.adopt(&c)
	return a
}

func run(r *monitor.Registry, name, id string) *monitor.Query {
	return r.Start(monitor.Run{ID: id, RunID: id + "-1", Name: name, StartedAt: time.Now()}, monitor.NewBus())
}

// pass lets time go by, looking at the rules every second.
func pass(a *Alerts, d time.Duration) {
	for range int(d / time.Second) {
		time.Sleep(time.Second)
		a.step(time.Now())
		synctest.Wait()
	}
}

const oneRule = `
group: {wait: 5s}
rules:
  - {name: late, when: backlogRows > 100, for: 1m, keep: 30s}
`

// waits says how many rows wait in the query's source.
func waits(q *monitor.Query, rows float64) {
	read, unread := health.Unmeasured(), health.Unmeasured()
	read.Rows, unread.Rows = 0, rows
	q.Sample(time.Now(), &health.Reading{At: time.Now(), Sources: []health.Source{
		{Name: "s", Read: read, Unread: unread, UntilLoss: unknown()}}})
}

func statesOf(a *Alerts, rule string) string {
	var out []string
	for _, v := range a.Overview().Alerts {
		if v.Rule == rule {
			out = append(out, v.State)
		}
	}
	return strings.Join(out, " ")
}

func TestAnAlertIsPendingThenFiresThenIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, q, box := started(t, oneRule)
		defer a.Close()
		step := func(rows float64, d time.Duration, state, told string) {
			t.Helper()
			waits(q, rows)
			pass(a, d)
			if got := statesOf(a, "late"); got != state {
				t.Errorf("with %v rows for %v: %q, want %q", rows, d, got, state)
			}
			if got := box.taken(); got != told {
				t.Errorf("with %v rows for %v: told %q, want %q", rows, d, got, told)
			}
		}
		step(5, 10*time.Second, "", "")
		step(500, 50*time.Second, "pending", "")
		step(5, 2*time.Second, "", "")           // too short to be one
		step(500, 58*time.Second, "pending", "") // it counts anew
		step(500, 4*time.Second, "firing", "")
		step(500, 6*time.Second, "firing", "orders late firing")
		step(500, 25*time.Minute, "firing", "")
		step(500, 6*time.Minute, "firing", "orders late firing") // again after half an hour
		step(5, 20*time.Second, "firing", "")                    // kept for 30 seconds
		step(500, 20*time.Second, "firing", "")
		step(5, 32*time.Second, "resolved", "")
		step(5, 6*time.Second, "resolved", "orders late resolved")
		step(5, time.Hour, "resolved", "")
	})
}

func TestWhatIsNotKnownEndsNoAlert(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, q, _ := started(t, oneRule)
		defer a.Close()
		waits(q, 500)
		pass(a, 70*time.Second)
		q.Sample(time.Now(), &health.Reading{At: time.Now(), Sources: []health.Source{
			{Name: "s", Read: health.Unmeasured(), Unread: health.Unmeasured()}}})
		pass(a, 5*time.Minute)
		if got := statesOf(a, "late"); got != "firing" {
			t.Errorf("the backlog is not known and the alert is %q", got)
		}
		q.Terminate(time.Now(), nil)
		pass(a, time.Second)
		if got := statesOf(a, "late"); got != "resolved" {
			t.Errorf("the query was stopped and the alert is %q", got)
		}
	})
}

func TestWhatWasOverBeforeAnybodyHeardIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, q, box := started(t, "group: {wait: 1 min}\nrules: [{name: late, when: backlogRows > 100}]")
		defer a.Close()
		waits(q, 500)
		pass(a, 10*time.Second)
		waits(q, 0)
		pass(a, 2*time.Minute)
		if got, told := statesOf(a, "late"), box.taken(); got != "resolved" || told != "" {
			t.Errorf("%q, told %q", got, told)
		}
	})
}

func TestMessagesAreGrouped(t *testing.T) {
	for by, want := range map[string]string{
		"all":   "a failing firing, b failing firing, a late firing",
		"rule":  "a failing firing, b failing firing; a late firing",
		"query": "a failing firing, a late firing; b failing firing",
		"alert": "a failing firing; b failing firing; a late firing",
	} {
		synctest.Test(t, func(t *testing.T) {
			e := testEnv(t, "group: {by: "+by+"}\nrules:\n"+
				"  - {name: failing, when: name = a or name = b, severity: critical}\n  - {name: late, when: backlogRows > 1}")
			a := begin(t, e)
			defer a.Close()
			q := run(e.Registry, "a", "11111111-0000-4000-8000-000000000001")
			waits(q, 9)
			pass(a, 3*time.Second)
			run(e.Registry, "b", "11111111-0000-4000-8000-000000000002")
			pass(a, 20*time.Second)
			box := a.senders["box"].to.receiver.(*mailbox)
			got := strings.Split(box.taken(), "; ")
			wanted := strings.Split(want, "; ")
			for i := range got {
				one := strings.Split(got[i], ", ")
				slices.Sort(one)
				got[i] = strings.Join(one, ", ")
			}
			for i := range wanted {
				one := strings.Split(wanted[i], ", ")
				slices.Sort(one)
				wanted[i] = strings.Join(one, ", ")
			}
			slices.Sort(got)
			slices.Sort(wanted)
			if !slices.Equal(got, wanted) {
				t.Errorf("by %s: %q, want %q", by, got, wanted)
			}
		})
	}
}

func TestASilenceKeepsAlertsFromBeingTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, q, box := started(t, oneRule)
		defer a.Close()
		waits(q, 500)
		pass(a, 75*time.Second)
		if got := box.taken(); got != "orders late firing" {
			t.Fatalf("told %q", got)
		}
		id, err := a.Silence(Silencing{Alert: a.Overview().Alerts[0].ID, For: 2 * time.Hour,
			Comment: "known"}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := a.Firing(); n != 0 || statesOf(a, "late") != "acknowledged" {
			t.Errorf("%d fire, %s", n, statesOf(a, "late"))
		}
		pass(a, time.Hour)
		if got := box.taken(); got != "" {
			t.Errorf("a silent alert was told: %q", got)
		}
		if err := a.EndSilence(id); err != nil {
			t.Fatal(err)
		}
		pass(a, 10*time.Second)
		if got := box.taken(); got != "orders late firing" {
			t.Errorf("after the silence: %q", got)
		}
		if err := a.EndSilence(id); err == nil {
			t.Error("a silence ended twice")
		}
		if _, err = a.Silence(Silencing{Query: "ord*", For: time.Minute}, time.Now()); err != nil {
			t.Fatal(err)
		}
		waits(q, 0)
		pass(a, 45*time.Second) // who knows of the alert is told that it is over
		if got := box.taken(); got != "orders late resolved" {
			t.Errorf("the end of a silent alert: %q", got)
		}
		pass(a, time.Minute)
		if n := len(a.Overview().Silences); n != 0 {
			t.Errorf("%d silences after their time", n)
		}
		for _, wrong := range []Silencing{
			{For: time.Hour}, {Alert: "nope", For: time.Hour}, {Query: "x"}, {Query: "x", For: 1000 * time.Hour},
			{Query: strings.Repeat("x", 501), For: time.Hour},
		} {
			if _, err := a.Silence(wrong, time.Now()); err == nil {
				t.Errorf("%+v was taken", wrong)
			}
		}
	})
}

func TestAlertsAndSilencesOutliveTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := testEnv(t, oneRule)
		e.State = "/weir/alerts.state.json"
		a := begin(t, e)
		waits(run(e.Registry, "orders", "11111111-0000-4000-8000-000000000000"), 500)
		pass(a, 75*time.Second)
		if _, err := a.Silence(Silencing{Rule: "query*", For: time.Hour}, time.Now()); err != nil {
			t.Fatal(err)
		}
		before := a.Overview().Alerts[0]
		a.Close()

		e.Registry = monitor.NewRegistry()
		a = begin(t, e)
		defer a.Close()
		waits(run(e.Registry, "orders", "11111111-0000-4000-8000-000000000000"), 500)
		pass(a, 10*time.Minute)
		o := a.Overview()
		if len(o.Alerts) != 1 || o.Alerts[0].ID != before.ID || o.Alerts[0].State != "firing" ||
			!o.Alerts[0].FiredAt.Equal(before.FiredAt) || len(o.Silences) != 1 {
			t.Errorf("%+v", o)
		}
		if got := a.senders["box"].to.receiver.(*mailbox).taken(); got != "" {
			t.Errorf("told again after a restart: %q", got)
		}
	})
	e := testEnv(t, "")
	e.State = "/weir/state"
	for text, want := range map[string]string{"{": "remove the file", `{"version":9}`: "another version"} {
		if err := vfs.WriteReplace(e.Files, e.State, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := open(e, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAFullDiskIsSaidAndStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := testEnv(t, oneRule)
		e.State = "/weir/alerts.state.json"
		full := errors.New("no space left on device")
		var on bool
		e.Files = vfs.NewFaulty(e.Files, func(c vfs.Call) vfs.Fault {
			if on && c.Op == vfs.OpWrite {
				return vfs.Fault{Err: full}
			}
			return vfs.Fault{}
		})
		a := begin(t, e)
		defer a.Close()
		q := run(e.Registry, "orders", "11111111-0000-4000-8000-000000000000")
		on = true
		waits(q, 500)
		pass(a, 75*time.Second)
		if got := a.senders["box"].to.receiver.(*mailbox).taken(); got != "orders late firing" ||
			!a.Overview().Unsaved {
			t.Errorf("told %q, unsaved %t", got, a.Overview().Unsaved)
		}
		on = false
		pass(a, 2*time.Second)
		if a.Overview().Unsaved {
			t.Error("still unsaved when there is room again")
		}
	})
}

func TestAWrongFileChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, q, _ := started(t, oneRule)
		defer a.Close()
		waits(q, 500)
		pass(a, 75*time.Second)
		write(t, &a.env, "rules: 5")
		if err := a.Reload(); err == nil || statesOf(a, "late") != "firing" || a.Overview().Problem == "" {
			t.Errorf("%v, %s, %q", err, statesOf(a, "late"), a.Overview().Problem)
		}
		write(t, &a.env, "rules: [{name: late, when: backlogRows > 1000}]")
		if err := a.Reload(); err != nil || a.Overview().Problem != "" {
			t.Error(err, a.Overview().Problem)
		}
		pass(a, 2*time.Second)
		if got := statesOf(a, "late"); got != "resolved" {
			t.Errorf("the rule has another condition, and the alert is %q", got)
		}
		write(t, &a.env, "")
		waits(q, 5000)
		pass(a, 2*time.Second)
		if err := a.Reload(); err != nil || statesOf(a, "late") != "resolved" {
			t.Errorf("%v: an alert without a rule is %q", err, statesOf(a, "late"))
		}
	})
}

func TestARunThatEndedLongAgoIsNoNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := testEnv(t, "")
		old := run(e.Registry, "old", "11111111-0000-4000-8000-000000000001")
		old.Terminate(time.Now(), &monitor.Failure{Message: "long ago"})
		time.Sleep(9 * time.Minute)
		fresh := run(e.Registry, "fresh", "11111111-0000-4000-8000-000000000002")
		fresh.Terminate(time.Now(), &monitor.Failure{Message: "just now"})
		time.Sleep(2 * time.Minute)
		a := begin(t, e)
		defer a.Close()
		pass(a, 15*time.Second)
		if got := a.senders["box"].to.receiver.(*mailbox).taken(); got != "fresh query failed firing" {
			t.Errorf("told %q", got)
		}
	})
}

func TestANotifierThatFailsIsTriedAgainAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, q, box := started(t, oneRule)
		defer a.Close()
		box.failing(errors.New("connection refused"))
		waits(q, 500)
		pass(a, 5*time.Minute)
		if v := a.Overview().Notifiers[0]; v.Sent != 0 || v.Failed != 0 || v.LastError != "connection refused" {
			t.Errorf("while it is tried: %+v", v)
		}
		box.failing(nil)
		pass(a, 70*time.Second)
		if v := a.Overview(); box.taken() != "orders late firing" || v.Notifiers[0].Sent != 1 ||
			v.Notifiers[0].LastError != "" ||
			!slices.Equal(v.Alerts[0].SentTo, []string{"box"}) {
			t.Errorf("after it works again: %+v", v)
		}
		box.failing(&refusedError{"the answer is 404 Not Found"})
		pass(a, 31*time.Minute)
		if v := a.Overview().Notifiers[0]; v.Failed != 1 || v.LastError != "the answer is 404 Not Found" {
			t.Errorf("a refused message waits for its repetition: %+v", v)
		}
	})
}

func TestTooManyMessagesAreDroppedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := testEnv(t, "group: {by: alert, wait: 1s}\nrules: [{name: all, when: name = '*'}]")
		a := begin(t, e)
		box := a.senders["box"].to.receiver.(*mailbox)
		box.failing(errors.New("down"))
		for i := range queued + 20 {
			run(e.Registry, fmt.Sprintf("q%03d", i), fmt.Sprintf("11111111-0000-4000-8000-%012d", i))
		}
		pass(a, 10*time.Second)
		if v := a.Overview().Notifiers[0]; v.Dropped < 15 || v.Waiting != queued {
			t.Errorf("%+v", v)
		}
		a.Close() // within drainFor, whatever the mailbox does
	})
}

// What each shipped rule is for, as a query would have it.
func TestShippedRulesFire(t *testing.T) {
	fail := func(q *monitor.Query) { q.Terminate(time.Now(), &monitor.Failure{Message: "boom"}) }
	for rule, c := range map[string]struct {
		config health.Config
		do     func(r *monitor.Registry, q *monitor.Query)
		within time.Duration
		text   string
	}{
		"query failed": {do: func(_ *monitor.Registry, q *monitor.Query) { fail(q) }, text: "boom"},
		"query stalled": {do: func(_ *monitor.Registry, q *monitor.Query) { q.Begin(1, time.Now()) },
			within: 2 * time.Minute, text: "does not move"},
		"freshness objective missed": {config: health.Config{Objective: 10 * time.Second},
			do:     func(_ *monitor.Registry, q *monitor.Query) { unread(q, 60*time.Second, 0) },
			within: 90 * time.Second, text: "the objective is 10"},
		"rows lost": {do: func(_ *monitor.Registry, q *monitor.Query) { q.Lost(time.Now(), "topic t is gone") },
			text: "topic t is gone"},
		"data loss within 24 h": {do: func(_ *monitor.Registry, q *monitor.Query) { unread(q, time.Second, 3600) },
			text: "deletes unread rows in 1"},
		"state almost at its limit": {config: health.Config{StateLimit: 1000},
			do: func(_ *monitor.Registry, q *monitor.Query) { committed(q, 1, 950) }, within: 70 * time.Second,
			text: "95"},
		"restart loop": {do: func(r *monitor.Registry, q *monitor.Query) {
			for range 3 {
				fail(q)
				q = run(r, "orders", q.ID())
			}
		}, text: "3 failures in ten minutes."},
		"late rows dropped": {do: func(_ *monitor.Registry, q *monitor.Query) { committed(q, 1, 10) },
			within: 16 * time.Minute, text: "10"},
		"partition behind the watermark": {do: latePartition, within: 70 * time.Second, text: "partition t-1 is 1"},
		"watermark stuck": {config: health.Config{WatermarkDelay: time.Second},
			do: func(_ *monitor.Registry, q *monitor.Query) {
				for range 40 {
					time.Sleep(10 * time.Second)
					committed(q, 1, 10)
				}
			}, text: "has not moved for"},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := testEnv(t, "")
			a := begin(t, e)
			defer a.Close()
			id := "11111111-0000-4000-8000-000000000000"
			q := e.Registry.Start(monitor.Run{ID: id, RunID: id + "-0", Name: "orders", StartedAt: time.Now(),
				Health: c.config}, monitor.NewBus())
			waits(q, 0)
			pass(a, 3*time.Second)
			c.do(e.Registry, q)
			for range int(c.within/time.Second) + 2 {
				if n := e.Registry.Find(id); n.State() != monitor.Failed {
					n.Sample(time.Now(), nil)
				}
				pass(a, time.Second)
			}
			o := a.Overview().Alerts
			i := slices.IndexFunc(o, func(v View) bool { return v.Rule == rule && v.State == "firing" })
			if i < 0 || !strings.Contains(o[i].Text, c.text) {
				t.Errorf("%s: %+v", rule, o)
				return
			}
			marks := e.Registry.Find(id).Marks()
			if !slices.ContainsFunc(marks, func(m health.Mark) bool { return m.Text == "Alert: "+rule }) {
				t.Errorf("%s is not among the events of its query: %+v", rule, marks)
			}
		})
	}
}

// unread says how old the first unread row is, and in how many seconds it will be
// deleted; 0 for never.
func unread(q *monitor.Query, age time.Duration, deletedIn float64) {
	s := health.Source{Name: "s", Read: health.Unmeasured(), Unread: health.Unmeasured(),
		Oldest:    time.Now().Add(-age),
		UntilLoss: deletedIn}
	s.Read.Rows, s.Unread.Rows = 5, 5
	if deletedIn == 0 {
		s.UntilLoss = unknown()
	}
	q.Sample(time.Now(), &health.Reading{At: time.Now(), Sources: []health.Source{s}})
}

// latePartition commits a batch of two partitions, of which one is two hours late.
func latePartition(_ *monitor.Registry, q *monitor.Query) {
	now := time.Now()
	q.Committed(health.Batch{ID: 1, Start: now, End: now, Rows: 10, StateBytes: 1,
		Watermark: now.Add(-10 * time.Minute), Parts: []health.PartTime{
			{Source: "s", Name: "t-0", Newest: now}, {Source: "s", Name: "t-1", Newest: now.Add(-2 * time.Hour)},
		}})
	q.Sample(now, nil)
}

// committed commits a batch of ten rows of which some were too late.
func committed(q *monitor.Query, dropped, state float64) {
	now := time.Now()
	q.Begin(1, now)
	q.Committed(health.Batch{ID: 1, Start: now, End: now, Rows: 10, Dropped: dropped, StateBytes: state})
	q.Sample(now, nil)
}

func TestDataLossIsForgottenAfterTenMinutes(t *testing.T) {
	var c counted
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	want := map[int]float64{0: 2, 5: 2, 9: 2, 10: 2, 12: 1, 16: 1, 22: 0}
	for minute := range 25 {
		sum := lately{losses: 2}
		if minute >= 11 {
			sum.losses = 3
		}
		got := c.rise(at.Add(time.Duration(minute)*time.Minute), sum)
		if w, ok := want[minute]; ok && got.losses != w {
			t.Errorf("minute %d: %v, want %v", minute, got.losses, w)
		}
	}
}

// A notifier's time is nobody else's: a thousand queries and all rules take a moment.
func BenchmarkStep(b *testing.B) {
	e := Env{Registry: monitor.NewRegistry(), Files: vfs.NewMemory(), Link: "http://x", Variable: os.LookupEnv}
	for i := range 500 {
		run(e.Registry, fmt.Sprint("q", i), fmt.Sprint("id", i))
	}
	a, err := open(e, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		a.step(time.Now())
	}
}
