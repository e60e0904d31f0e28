package alert

import (
	"context"
	"strings"
	"time"
)

// alertmanagerResend is how often Prometheus tells an Alertmanager of what fires. One
// that hears nothing for longer than endsAt takes the alert for over.
const (
	alertmanagerResend = time.Minute
	alertmanagerHolds  = 4 * alertmanagerResend
)

var alertmanagerKind = notifierKind{
	name: "alertmanager", resend: alertmanagerResend,
	read: func(s *secrets, n *node) (receiver, error) {
		p, err := placeOf(s, n, "alertmanager")
		if err != nil {
			return nil, err
		}
		p.url = strings.TrimSuffix(p.url, "/")
		return &alertmanager{p}, nil
	},
}

// alertmanager posts to an Alertmanager of Prometheus, version 2 of its API.
type alertmanager struct{ *place }

type alertmanagerJSON struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     string            `json:"startsAt"`
	EndsAt       string            `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
}

func (a *alertmanager) target() string { return a.host() }

func (a *alertmanager) send(ctx context.Context, m *message) error {
	return a.post(ctx, "/api/v2/alerts", m.alertmanager())
}

func (m *message) alertmanager() []alertmanagerJSON {
	out := []alertmanagerJSON{}
	for i := range m.list {
		n := &m.list[i]
		one := alertmanagerJSON{
			Labels: map[string]string{
				"alertname": n.rule, "severity": string(n.severity), "query": cut(n.query.name, 200),
				"query_id": n.query.id, "application": cut(n.query.application, 200), "server": m.server,
			},
			Annotations: map[string]string{"summary": n.text, "description": strings.Join(append(
				append([]string{}, n.why...), n.todo...), " ")},
			StartsAt: n.fired.UTC().Format(time.RFC3339Nano),
			EndsAt:   m.at.Add(alertmanagerHolds).UTC().Format(time.RFC3339Nano), GeneratorURL: n.link,
		}
		if n.over() {
			one.EndsAt = n.ended.UTC().Format(time.RFC3339Nano)
		}
		for _, l := range n.labels {
			one.Labels[labelName(l.Name)] = l.Value
		}
		for name, value := range one.Labels {
			if value == "" { // an empty label is none
				delete(one.Labels, name)
			}
		}
		out = append(out, one)
	}
	return out
}

// labelName is a name as Prometheus lets labels be called.
func labelName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, name)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}
	return name
}
