package alert

import (
	"errors"
	"slices"
	"time"
)

// group gathers what a notifier is to be told at once.
type group struct {
	since time.Time // when the first came; zero while it is empty
	list  []*alert
}

// tell puts what is new, and what goes on, into the groups of notifiers, and gives
// those that waited long enough to their senders. It requires mu.
func (a *Alerts) tell(now time.Time) {
	for i := range a.config.notifiers {
		n := &a.config.notifiers[i]
		g := a.groups[n.name]
		for _, one := range a.live {
			if one.state == Firing && !one.silenced && n.takes(one) && one.due(n, now) {
				a.gather(g, n, one, now)
			}
		}
		for _, one := range a.past {
			if t := one.told[n.name]; t != nil && n.resolved && t.wantsEnd {
				t.wantsEnd = false
				a.gather(g, n, one, now)
			}
		}
		if !g.since.IsZero() && now.Sub(g.since) >= a.config.groupWait {
			a.send(n, g, now)
		}
	}
}

// due tells whether the notifier is to be told of an alert that fires.
func (one *alert) due(n *notifier, now time.Time) bool {
	t := one.told[n.name]
	return t == nil || !t.pending && now.Sub(t.at) >= n.repeat
}

func (a *Alerts) gather(g *group, n *notifier, one *alert, now time.Time) {
	t := one.told[n.name]
	if t == nil {
		t = &told{}
		one.told[n.name] = t
	}
	t.pending = true
	if g.since.IsZero() {
		g.since = now
	}
	if !slices.Contains(g.list, one) {
		g.list = append(g.list, one)
	}
}

// send makes messages of a group. It requires mu.
func (a *Alerts) send(n *notifier, g *group, now time.Time) {
	list := g.list
	*g = group{}
	list = slices.DeleteFunc(list, func(one *alert) bool {
		t := one.told[n.name]
		t.pending = false
		// What was over before anybody heard of it, and what was silenced meanwhile, is not told.
		never := t.at.IsZero() && (one.state.over() || one.silenced)
		if never {
			delete(one.told, n.name)
		}
		return never
	})
	slices.SortFunc(list, func(x, y *alert) int {
		vx, vy := x.view(), y.view()
		return worst(&vx, &vy)
	})
	for _, part := range a.split(n, list) {
		m := newMessage(&a.env, a.config.link, part, now)
		queued := a.senders[n.name].offer(m)
		for _, one := range part {
			t := one.told[n.name]
			if t.at = now; !queued {
				t.at = now.Add(time.Minute - n.repeat)
			}
			t.wantsEnd = !one.state.over()
			a.dirty = true
		}
	}
}

// split cuts a group into messages.
func (a *Alerts) split(n *notifier, list []*alert) [][]*alert {
	by := a.config.groupBy
	if n.kind.single {
		by = "alert"
	}
	var order []string
	parts := map[string][]*alert{}
	for _, one := range list {
		name := map[string]string{"all": "", "rule": one.rule.name, "query": one.query.id, "alert": one.id}[by]
		if parts[name] == nil {
			order = append(order, name)
		}
		parts[name] = append(parts[name], one)
	}
	var out [][]*alert
	for _, name := range order {
		out = slices.AppendSeq(out, slices.Chunk(parts[name], mostInMessage))
	}
	return out
}

// heard is told how the sending of a message went.
func (a *Alerts) heard(name string, m *message, err error, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range m.about {
		t := one.told[name]
		if t == nil {
			continue
		}
		a.dirty = true
		if err == nil {
			t.delivered = true
			continue
		}
		var refused *refusedError
		if errors.As(err, &refused) {
			continue // the next repetition would fail as well, and nobody wants to read it each minute
		}
		// What still fires is told anew, as it is then.
		t.at = now.Add(retryAfter - a.repeatOf(name))
	}
}

// retryAfter is when a message that could not be sent is made anew.
const retryAfter = time.Minute

// repeatOf requires mu.
func (a *Alerts) repeatOf(name string) time.Duration {
	for _, n := range a.config.notifiers {
		if n.name == name {
			return n.repeat
		}
	}
	return a.config.repeat
}
