package alert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	mostSilences   = 200
	longestSilence = 30 * 24 * time.Hour
	longestPattern = 500
)

// silence keeps alerts from being told.
type silence struct {
	id          string
	rule, query string // patterns; query stands for a query's name or id
	until       time.Time
	comment     string
	begun       time.Time
}

func (s *silence) covers(one *alert) bool {
	return matches(s.rule, one.rule.name) &&
		(matches(s.query, one.query.name) || matches(s.query, one.query.id))
}

// A Silencing says what is not to be told, and until when.
type Silencing struct {
	Alert       string // the id of an alert: its rule and its query
	Rule, Query string // patterns with *; "" is any, but not both
	For         time.Duration
	Comment     string
}

// Silence keeps alerts from being told for a while, and gives the silence's id.
func (a *Alerts) Silence(s Silencing, now time.Time) (id string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case s.For <= 0 || s.For > longestSilence:
		return "", fmt.Errorf("a silence lasts from a second to %d days", longestSilence/(24*time.Hour))
	case len(a.silences) >= mostSilences:
		return "", fmt.Errorf("there are %d silences already; end one first", mostSilences)
	case max(len(s.Rule), len(s.Query), len(s.Comment)) > longestPattern:
		return "", fmt.Errorf("rule, query and comment have at most %d bytes", longestPattern)
	}
	if s.Alert != "" {
		one := a.find(s.Alert)
		if one == nil {
			return "", errNoSuchAlert
		}
		s.Rule, s.Query = one.rule.name, one.query.id
	}
	if s.Rule == "" && s.Query == "" {
		return "", errors.New("say which alert, rule or query is to be silent; * is all of them")
	}
	made := silence{
		rule: orAll(s.Rule), query: orAll(s.Query), until: now.Add(s.For), begun: now,
		comment: strings.ToValidUTF8(s.Comment, "\ufffd"),
	}
	made.id = "s" + idOf(key{made.rule, made.query}, now)
	a.silences = append(a.silences, made)
	a.dirty = true
	a.cover()
	return made.id, nil
}

func orAll(pattern string) string {
	if pattern == "" {
		return "*"
	}
	return pattern
}

// EndSilence ends a silence before its time.
func (a *Alerts) EndSilence(id string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.silences, func(s silence) bool { return s.id == id })
	if i < 0 {
		return errors.New("there is no such silence; it may be over")
	}
	a.silences = slices.Delete(a.silences, i, i+1)
	a.dirty = true
	a.cover()
	return nil
}

// endSilences drops those that are over. It requires mu.
func (a *Alerts) endSilences(now time.Time) {
	n := len(a.silences)
	a.silences = slices.DeleteFunc(a.silences, func(s silence) bool { return !now.Before(s.until) })
	a.dirty = a.dirty || n != len(a.silences)
	a.cover()
}

// cover notes which alerts are silent. It requires mu.
func (a *Alerts) cover() {
	for _, one := range a.live {
		one.silenced = slices.ContainsFunc(a.silences, func(s silence) bool { return s.covers(one) })
	}
}

// find is a live alert. It requires mu.
func (a *Alerts) find(id string) *alert {
	for _, one := range a.live {
		if one.id == id {
			return one
		}
	}
	return nil
}
