package alert

import (
	"slices"
	"time"
)

// A View is an alert as it is shown.
type View struct {
	ID                     string
	State                  string // pending, firing, acknowledged (silent), resolved, dismissed or unwatched
	Severity               Severity
	Rule                   string
	QueryID, QueryName     string
	Application            string
	Text                   string
	Labels                 []Label
	HeldAt, FiredAt, Ended time.Time // zero where it has not come to that
	SentTo                 []string  // who was told, and has confirmed it
}

// A RuleView is a rule as it is shown.
type RuleView struct {
	Name, Condition string
	For, Keep       time.Duration
	Severity        Severity
	Labels          []Label
	To              []string // empty: everybody
	Shipped         bool
	Firing, Pending int
}

// A SilenceView is a silence as it is shown.
type SilenceView struct {
	ID, Rule, Query, Comment string
	Begun, Until             time.Time
}

// A NotifierView is a notifier as it is shown, without its secrets (A3).
type NotifierView struct {
	Name, Kind, Target             string
	Sent, Failed, Dropped, Waiting int64
	LastSent, LastFailed           time.Time
	LastError                      string
}

// Overview is all there is to show.
type Overview struct {
	Alerts    []View // what fires first, the worst first
	Rules     []RuleView
	Silences  []SilenceView
	Notifiers []NotifierView
	Repeat    time.Duration
	File      string // where the rules are; "" for nowhere
	Problem   string // why the file is not in force
	Dropped   int64  // alerts that were more than are kept
	Unsaved   bool   // the state could not be written
}

// Overview reads all there is to show.
func (a *Alerts) Overview() Overview {
	a.mu.Lock()
	defer a.mu.Unlock()
	o := Overview{
		Repeat: a.config.repeat, File: a.env.File, Problem: a.problem, Dropped: a.dropped, Unsaved: a.unsaved,
	}
	index := map[string]int{}
	for i, r := range a.config.rules {
		index[r.name] = i
		o.Rules = append(o.Rules, RuleView{
			Name: r.name, Condition: r.when, For: r.wait, Keep: r.keep, Severity: r.severity, Labels: r.labels,
			To: r.to, Shipped: r.shipped,
		})
	}
	for k, one := range a.live {
		if rule := &o.Rules[index[k.rule]]; one.state == Firing {
			rule.Firing++
		} else {
			rule.Pending++
		}
		o.Alerts = append(o.Alerts, one.view())
	}
	for _, one := range a.past {
		o.Alerts = append(o.Alerts, one.view())
	}
	slices.SortFunc(o.Alerts, func(x, y View) int { return worst(&x, &y) })
	for _, s := range a.silences {
		o.Silences = append(o.Silences, SilenceView{s.id, s.rule, s.query, s.comment, s.begun, s.until})
	}
	for _, n := range a.config.notifiers {
		if s := a.senders[n.name]; s != nil {
			o.Notifiers = append(o.Notifiers, s.view())
		}
	}
	return o
}

// Of is what fires of a query, silent or not, the worst first.
func (a *Alerts) Of(queryID string) []View {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []View
	for k, one := range a.live {
		if k.query == queryID && one.state == Firing {
			out = append(out, one.view())
		}
	}
	slices.SortFunc(out, func(x, y View) int { return worst(&x, &y) })
	return out
}

func (one *alert) view() View {
	v := View{
		ID: one.id, State: string(one.state), Severity: one.rule.severity, Rule: one.rule.name,
		QueryID: one.query.id, QueryName: one.query.name, Application: one.query.application,
		Text: one.text, Labels: one.rule.labels, HeldAt: one.held, FiredAt: one.fired, Ended: one.ended,
	}
	if one.silenced && one.state == Firing {
		v.State = "acknowledged"
	}
	for name, t := range one.told {
		if t.delivered {
			v.SentTo = append(v.SentTo, name)
		}
	}
	slices.Sort(v.SentTo)
	return v
}

// Firing is how many alerts fire that nobody has silenced, and how many of them are
// critical.
func (a *Alerts) Firing() (all, critical int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.live {
		if one.state != Firing || one.silenced {
			continue
		}
		all++
		if one.rule.severity == Critical {
			critical++
		}
	}
	return all, critical
}
