package alert

import (
	"context"
	"fmt"
	"strings"
)

var slackKind = notifierKind{name: "slack", read: func(s *secrets, n *node) (receiver, error) {
	p, err := placeOf(s, n, "slack")
	return &slack{p}, err
}}

// slack posts to an incoming webhook of Slack, or of what understands the same.
type slack struct{ *place }

const (
	// slackText is how long Slack lets the text of a section be.
	slackText = 3000
	// slackShown is how many alerts are written out; the rest is a line.
	slackShown = 10
)

type slackJSON struct {
	Text   string       `json:"text"` // for notifications
	Blocks []slackBlock `json:"blocks"`
}

type slackBlock struct {
	Type     string      `json:"type"`
	Text     *slackWords `json:"text,omitempty"`
	Elements []any       `json:"elements,omitempty"`
}

type slackWords struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (s *slack) target() string { return s.host() }

func (s *slack) send(ctx context.Context, m *message) error { return s.post(ctx, "", m.slack()) }

func (m *message) slack() *slackJSON {
	out := &slackJSON{Text: slackEscape(m.title)}
	for i := range m.list {
		if i == slackShown {
			out.Blocks = append(out.Blocks, slackSection(fmt.Sprintf("<%s|%d more>", m.link, len(m.list)-slackShown)))
			break
		}
		out.Blocks = append(out.Blocks, slackSection(m.list[i].slack()))
	}
	out.Blocks = append(out.Blocks, slackBlock{Type: "context", Elements: []any{
		slackWords{"mrkdwn", fmt.Sprintf("<%s|All alerts> of %s", m.link, slackEscape(cut(m.server, 200)))},
	}})
	return out
}

func slackSection(text string) slackBlock {
	return slackBlock{Type: "section", Text: &slackWords{"mrkdwn", text}}
}

// slack is an alert in Slack's own marks.
func (n *notice) slack() string {
	icon := map[string]string{"critical": ":red_circle:", "warning": ":large_orange_circle:",
		"info": ":large_blue_circle:"}
	mark, word := icon[string(n.severity)], string(n.severity)
	switch {
	case n.state == Resolved:
		mark, word = ":white_check_mark:", n.state.word()
	case n.over():
		mark, word = ":white_circle:", n.state.word()
	}
	text := fmt.Sprintf("%s *<%s|%s>* %s, %s\n%s", mark, n.link, slackEscape(cut(n.query.name, 200)),
		slackEscape(cut(n.rule, 200)), word, slackEscape(n.text))
	for _, line := range append(append([]string{}, n.why...), n.todo...) {
		line = "\n• " + slackEscape(cut(line, 500))
		if len([]rune(text))+len([]rune(line)) > slackText {
			break
		}
		text += line
	}
	return text
}

// slackEscape keeps texts from becoming marks: Slack names these three, and a bar or a
// star begins one.
func slackEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "¦").Replace(text)
}
