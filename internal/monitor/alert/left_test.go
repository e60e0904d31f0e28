package alert

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

const ordersID = "11111111-0000-4000-8000-000000000000"

// gone is a query of an earlier server that ran for so long when that ended, some time ago.
func gone(name, id string, ran, ago time.Duration) monitor.Recalled {
	end := time.Now().Add(-ago)
	return monitor.Recalled{
		Run:     monitor.Run{ID: id, RunID: id + "-0", Name: name, StartedAt: end.Add(-ran)},
		EndedAt: end, EndReason: monitor.ServerGone,
	}
}

// A query that ran when the server ended is told of five minutes after the next start,
// however long nothing was there; one that was young and without a checkpoint is not.
func TestQueriesThatWereNotStartedAgainAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := testEnv(t, "group: {wait: 1s}")
		a := begin(t, e)
		defer a.Close()
		checkpointed := gone("checkpointed", "c", time.Minute, time.Hour)
		checkpointed.Checkpointed = true
		e.Registry.Recall([]monitor.Recalled{
			gone("orders", ordersID, time.Hour, 60*time.Hour), gone("young", "y", time.Minute, time.Minute),
			checkpointed,
		})
		box := a.senders["box"].to.receiver.(*mailbox)
		pass(a, 5*time.Minute-2*time.Second)
		if got := box.taken(); got != "" {
			t.Errorf("told too early: %q", got)
		}
		pass(a, 10*time.Second)
		if got := box.taken(); got != "checkpointed not started again firing, orders not started again firing" &&
			got != "orders not started again firing, checkpointed not started again firing" {
			t.Errorf("told %q", got)
		}
		v := a.Of(ordersID)
		if len(v) != 1 || !strings.Contains(v[0].Text, "its program has not started it again.") ||
			strings.Contains(v[0].Text, "again. The") {
			t.Errorf("%+v", v)
		}
		run(e.Registry, "orders", ordersID)
		pass(a, 10*time.Second)
		if got := box.taken(); got != "orders not started again resolved" {
			t.Errorf("after its start: %q", got)
		}
		e.Registry.Find("c").Dismiss(time.Now())
		pass(a, 10*time.Second)
		if got := box.taken(); got != "checkpointed not started again dismissed" {
			t.Errorf("after it was dismissed: %q", got)
		}
	})
}

// nextServer ends the alerts and begins others with the same state.
func nextServer(t *testing.T, a *Alerts, e *Env) *Alerts {
	t.Helper()
	a.Close()
	e.Registry = monitor.NewRegistry()
	time.Sleep(time.Minute)
	return begin(t, *e)
}

// The alert of a query that failed goes on over a restart until somebody does something,
// and is not said to be resolved before.
func TestTheAlertOfAFailedQueryGoesOnOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := testEnv(t, "group: {wait: 1s}")
		e.State = "/weir/alerts.state.json"
		a := begin(t, e)
		q := run(e.Registry, "orders", ordersID)
		q.Terminate(time.Now(), &monitor.Failure{Message: "boom"})
		pass(a, 10*time.Second)
		if got := a.senders["box"].to.receiver.(*mailbox).taken(); got != "orders query failed firing" {
			t.Fatalf("told %q", got)
		}
		a = nextServer(t, a, &e)
		defer a.Close()
		box := a.senders["box"].to.receiver.(*mailbox)
		x := gone("orders", ordersID, time.Hour, 2*time.Minute)
		x.Failure = &monitor.Failure{Message: "boom"}
		e.Registry.Recall([]monitor.Recalled{x})
		pass(a, 25*time.Minute)
		if got := box.taken(); got != "" || statesOf(a, "query failed") != "firing" {
			t.Errorf("told %q, %s", got, statesOf(a, "query failed"))
		}
		pass(a, 10*time.Minute)
		if got := box.taken(); got != "orders query failed firing" {
			t.Errorf("repeated as %q", got)
		}
		e.Registry.Find(ordersID).Dismiss(time.Now())
		pass(a, 10*time.Second)
		if got := box.taken(); got != "orders query failed dismissed" || len(a.Of(ordersID)) != 0 {
			t.Errorf("after it was dismissed: %q", got)
		}
	})
}

// What ends without having been mended is not called resolved: an alert of a query that
// ran when the server was killed, and one of a query that nobody knows any more.
func TestWhatNobodyMendedIsNotResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := testEnv(t, oneRule)
		e.State = "/weir/alerts.state.json"
		a := begin(t, e)
		waits(run(e.Registry, "orders", ordersID), 500)
		waits(run(e.Registry, "forgotten", "f"), 500)
		pass(a, 75*time.Second)
		a.senders["box"].to.receiver.(*mailbox).taken()
		a = nextServer(t, a, &e)
		defer a.Close()
		box := a.senders["box"].to.receiver.(*mailbox)
		e.Registry.Recall([]monitor.Recalled{gone("orders", ordersID, time.Hour, time.Minute)})
		pass(a, 10*time.Second)
		if got := box.taken(); got != "orders late unwatched" {
			t.Errorf("told %q", got)
		}
		pass(a, 10*time.Minute)
		if got := box.taken(); got != "forgotten late unwatched" {
			t.Errorf("told %q", got)
		}
		n := notice{state: Unwatched, query: subject{name: "orders"}, rule: "late"}
		if got := titleOf([]notice{n}); got != "[no longer watched] orders: late" {
			t.Errorf("the title is %q", got)
		}
	})
}

// A query without a name is called in messages as the pages call it.
func TestAnUnnamedQueryIsCalledAsOnThePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := testEnv(t, "group: {wait: 1s}")
		a := begin(t, e)
		defer a.Close()
		run(e.Registry, "", ordersID).Terminate(time.Now(), &monitor.Failure{Message: "boom"})
		pass(a, 10*time.Second)
		if got := a.senders["box"].to.receiver.(*mailbox).taken(); got != "query 11111111 query failed firing" {
			t.Errorf("told %q", got)
		}
	})
}

// A restart does not begin anew how long a server runs without a query, nor ends what was told
// of it.
func TestARestartDoesNotEndWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := testEnv(t, "group: {wait: 1s}")
		e.State = "/weir/alerts.state.json"
		a := begin(t, e)
		left := gone("orders", ordersID, time.Hour, time.Minute)
		e.Registry.Recall([]monitor.Recalled{left})
		for range 3 { // servers that end before five minutes
			pass(a, 2*time.Minute)
			if got := a.senders["box"].to.receiver.(*mailbox).taken(); strings.Contains(got, "firing") {
				break
			}
			a = nextServer(t, a, &e)
			e.Registry.Recall([]monitor.Recalled{left})
		}
		if v := a.Of(ordersID); len(v) != 1 || v[0].State != "firing" {
			t.Fatalf("after six minutes: %+v", v)
		}
		a = nextServer(t, a, &e)
		defer a.Close()
		e.Registry.Recall([]monitor.Recalled{left})
		pass(a, time.Minute)
		if v := a.Of(ordersID); len(v) != 1 || v[0].State != "firing" {
			t.Errorf("after another restart: %+v", v)
		}
	})
}

// With a query that nobody can go on with, its alert ends when one of its name runs.
func TestAnAlertEndsWithTheNextRunOfTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := testEnv(t, "group: {wait: 1s}")
		a := begin(t, e)
		defer a.Close()
		start := func(id string) *monitor.Query {
			return e.Registry.Start(monitor.Run{ID: id, RunID: id + "-0", Name: "orders", StartedAt: time.Now(),
				Settings: []monitor.Setting{{Name: "checkpoint", Value: monitor.NoCheckpoint}}}, monitor.NewBus())
		}
		for _, id := range []string{"a", "b", "c"} {
			q := start(id)
			pass(a, time.Second)
			q.Terminate(time.Now(), &monitor.Failure{Message: "boom"})
			pass(a, 10*time.Second)
		}
		firing := func() int {
			n, _ := a.Firing()
			return n
		}
		if n := len(e.Registry.Queries()); n != 1 || firing() != 1 {
			t.Errorf("%d queries are shown, %d alerts fire", n, firing())
		}
		start("d")
		pass(a, 10*time.Second)
		if firing() != 0 {
			t.Errorf("%d alerts fire after one runs", firing())
		}
	})
}
