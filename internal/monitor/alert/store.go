package alert

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/weir-dev/weir/internal/vfs"
)

// stored is the file that keeps alerts and silences over restarts. Only weir reads it.
type stored struct {
	Version  int                  `json:"version"`
	Silences []storedSilence      `json:"silences"`
	Alerts   []storedAlert        `json:"alerts"`
	Left     map[string]time.Time `json:"left,omitempty"`
}

const storedVersion = 1

type storedSilence struct {
	ID, Rule, Query, Comment string
	Begun, Until             time.Time
}

type storedAlert struct {
	ID, Rule                           string
	State                              State
	QueryID, RunID, Query, Application string
	Engine, Text                       string
	Severity                           Severity
	Held, Fired, Ended                 time.Time
	Told                               map[string]storedTold
}

type storedTold struct {
	At                  time.Time
	Delivered, WantsEnd bool
}

// restore reads what was kept. A file that cannot be read is an error: it holds
// silences that people rely on.
func (a *Alerts) restore(now time.Time) error {
	if a.env.State == "" {
		return nil
	}
	data, err := vfs.ReadFile(a.env.Files, a.env.State)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var kept stored
	if err == nil {
		err = json.Unmarshal(data, &kept)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w; remove the file to begin without alerts and silences", a.env.State, err)
	case kept.Version != storedVersion:
		return fmt.Errorf("%s was written by another version of weir; remove it to begin anew", a.env.State)
	}
	for _, s := range kept.Silences {
		if now.Before(s.Until) && len(a.silences) < mostSilences {
			a.silences = append(a.silences, silence{s.ID, s.Rule, s.Query, s.Until, s.Comment, s.Begun})
		}
	}
	maps.Copy(a.left, kept.Left)
	rules := map[string]*rule{}
	for _, r := range a.config.rules {
		rules[r.name] = r
	}
	for i := range kept.Alerts {
		a.restoreAlert(&kept.Alerts[i], rules)
	}
	a.dirty = false
	return nil
}

func (a *Alerts) restoreAlert(k *storedAlert, rules map[string]*rule) {
	one := &alert{
		id: k.ID, rule: rules[k.Rule], state: k.State, held: k.Held, fired: k.Fired, ended: k.Ended, text: k.Text,
		query: subject{k.QueryID, k.RunID, k.Query, k.Application, k.Engine}, told: map[string]*told{},
	}
	for name, t := range k.Told {
		one.told[name] = &told{at: t.At, delivered: t.Delivered, wantsEnd: t.WantsEnd}
	}
	switch {
	case one.state.over():
		if one.rule == nil {
			one.rule = &rule{name: k.Rule, severity: k.Severity}
		}
		a.past = append(a.past, one)
	case one.rule != nil && one.state == Firing && len(a.live) < mostAlerts:
		a.live[key{k.Rule, k.QueryID}] = one
	}
}

// save writes what is to be kept, if it has changed. What cannot be written is tried
// again at the next step, and said once.
func (a *Alerts) save() {
	a.mu.Lock()
	if !a.dirty || a.env.State == "" {
		a.dirty = false
		a.mu.Unlock()
		return
	}
	kept := a.stored()
	a.dirty = false
	a.mu.Unlock()
	data, err := json.Marshal(kept)
	if err == nil {
		err = vfs.WriteReplace(a.env.Files, a.env.State, data)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.dirty = true
		if !a.unsaved {
			a.env.Log.Error("alerts and silences cannot be kept for the next start", "err", err)
		}
	}
	a.unsaved = err != nil
}

// stored requires mu.
func (a *Alerts) stored() *stored {
	out := &stored{Version: storedVersion, Left: maps.Clone(a.left)}
	for _, s := range a.silences {
		out.Silences = append(out.Silences, storedSilence{s.id, s.rule, s.query, s.comment, s.begun, s.until})
	}
	add := func(one *alert) {
		k := storedAlert{
			ID: one.id, Rule: one.rule.name, State: one.state, QueryID: one.query.id, RunID: one.query.runID,
			Query: one.query.name, Application: one.query.application, Engine: one.query.engine, Text: one.text,
			Severity: one.rule.severity, Held: one.held, Fired: one.fired, Ended: one.ended,
			Told: map[string]storedTold{},
		}
		for name, t := range one.told {
			if !t.at.IsZero() {
				k.Told[name] = storedTold{t.at, t.delivered, t.wantsEnd}
			}
		}
		out.Alerts = append(out.Alerts, k)
	}
	for _, one := range a.past {
		add(one)
	}
	for _, one := range a.live {
		if one.state == Firing {
			add(one)
		}
	}
	return out
}
