package alert

import (
	"context"
	"time"
)

const pagerdutyURL = "https://events.pagerduty.com"

var pagerdutyKind = notifierKind{name: "pagerduty", single: true, read: func(s *secrets,
	n *node) (receiver, error) {
	if err := n.only("pagerduty", "key", "url"); err != nil {
		return nil, err
	}
	key, err := s.needed(n, "pagerduty", "key")
	if err != nil {
		return nil, err
	}
	address, err := s.of(n, "url")
	if err != nil {
		return nil, err
	}
	if address == "" {
		address = pagerdutyURL
	}
	p, err := newPlace(n, address)
	return &pagerduty{p, key}, err
}}

// pagerduty sends events of PagerDuty's Events API, version 2. The id of an alert is
// its key there, so that its end ends the same incident.
type pagerduty struct {
	*place
	key string
}

type pagerdutyJSON struct {
	RoutingKey  string            `json:"routing_key"`
	EventAction string            `json:"event_action"`
	DedupKey    string            `json:"dedup_key"`
	Client      string            `json:"client,omitempty"`
	ClientURL   string            `json:"client_url,omitempty"`
	Links       []pagerdutyLink   `json:"links,omitempty"`
	Payload     *pagerdutyPayload `json:"payload,omitempty"`
}

type pagerdutyLink struct {
	Href string `json:"href"`
	Text string `json:"text"`
}

type pagerdutyPayload struct {
	Summary   string         `json:"summary"`
	Source    string         `json:"source"`
	Severity  Severity       `json:"severity"`
	Timestamp string         `json:"timestamp"`
	Component string         `json:"component"`
	Group     string         `json:"group,omitempty"`
	Class     string         `json:"class"`
	Details   map[string]any `json:"custom_details"`
}

func (p *pagerduty) target() string { return p.host() }

func (p *pagerduty) send(ctx context.Context, m *message) error {
	for i := range m.list {
		if err := p.post(ctx, "/v2/enqueue", m.pagerduty(&m.list[i], p.key)); err != nil {
			return err
		}
	}
	return nil
}

// pagerduty is one alert as an event.
func (m *message) pagerduty(n *notice, key string) *pagerdutyJSON {
	out := &pagerdutyJSON{RoutingKey: key, EventAction: "resolve", DedupKey: "weir-" + n.id}
	if n.over() {
		return out
	}
	out.EventAction = "trigger"
	out.Client, out.ClientURL = "weir", n.link
	out.Links = []pagerdutyLink{{n.link, "The query at that time"}}
	details := map[string]any{"rule": n.rule, "query_id": n.query.id, "why": n.why, "todo": n.todo}
	for _, l := range n.labels {
		details["label_"+l.Name] = l.Value
	}
	out.Payload = &pagerdutyPayload{
		Summary: cut(n.query.name+": "+n.text, 1024), Source: cut(m.server, 200), Severity: n.severity,
		Timestamp: n.fired.UTC().Format(time.RFC3339), Component: cut(n.query.name, 200),
		Group: cut(n.query.application, 200), Class: n.rule, Details: details,
	}
	return out
}
