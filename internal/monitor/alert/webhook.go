package alert

import "context"

var webhookKind = notifierKind{name: "webhook", read: func(s *secrets, n *node) (receiver, error) {
	p, err := placeOf(s, n, "webhook")
	return &webhook{p}, err
}}

// webhook posts weir's own JSON, which docs/alerts.md describes.
type webhook struct{ *place }

type webhookJSON struct {
	Version  int           `json:"version"`
	Server   string        `json:"server"`
	Status   string        `json:"status"`
	Title    string        `json:"title"`
	Link     string        `json:"link"`
	SentAtMs int64         `json:"sentAtMs"`
	Alerts   []webhookItem `json:"alerts"`
}

type webhookItem struct {
	ID        string            `json:"id"`
	Status    string            `json:"status"`
	Rule      string            `json:"rule"`
	Severity  Severity          `json:"severity"`
	Labels    map[string]string `json:"labels"`
	Query     webhookQuery      `json:"query"`
	Text      string            `json:"text"`
	Why       []string          `json:"why"`
	Todo      []string          `json:"todo"`
	FiredAtMs int64             `json:"firedAtMs"`
	EndedAtMs *int64            `json:"endedAtMs"`
	Link      string            `json:"link"`
}

type webhookQuery struct {
	ID          string `json:"id"`
	RunID       string `json:"runId"`
	Name        string `json:"name"`
	Application string `json:"application"`
	Engine      string `json:"engine"`
}

func (w *webhook) target() string { return w.host() }

func (w *webhook) send(ctx context.Context, m *message) error { return w.post(ctx, "", m.json()) }

// json is the message for programs.
func (m *message) json() *webhookJSON {
	out := &webhookJSON{
		Version: 1, Server: m.server, Status: m.status(), Title: m.title, Link: m.link,
		SentAtMs: m.at.UnixMilli(), Alerts: []webhookItem{},
	}
	for i := range m.list {
		n := &m.list[i]
		item := webhookItem{
			ID: n.id, Status: n.status(), Rule: n.rule, Severity: n.severity, Labels: map[string]string{},
			Query: webhookQuery{n.query.id, n.query.runID, n.query.name, n.query.application, n.query.engine},
			Text:  n.text, Why: append([]string{}, n.why...), Todo: append([]string{}, n.todo...),
			FiredAtMs: n.fired.UnixMilli(), Link: n.link,
		}
		for _, l := range n.labels {
			item.Labels[l.Name] = l.Value
		}
		if n.over() {
			at := n.ended.UnixMilli()
			item.EndedAtMs = &at
		}
		out.Alerts = append(out.Alerts, item)
	}
	return out
}
