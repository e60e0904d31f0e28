package alert

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// mostInMessage is how many alerts a message has at most; more make more messages.
	mostInMessage = 50
	// longestText is how much of a sentence is sent, in letters.
	longestText = 1000
)

// message is what a notifier is told at once.
type message struct {
	server string
	at     time.Time
	title  string
	link   string // of the page of alerts
	list   []notice
	about  []*alert // the same as they are kept, for whoever hears how it went
}

// notice is an alert in a message. It does not change with the alert.
type notice struct {
	id, rule     string
	state        State
	severity     Severity
	labels       []Label
	query        subject
	text         string
	why, todo    []string
	fired, ended time.Time
	link         string // of the query's page around the time of the alert
}

// status is firing when anything in the message is; else how the first one ended.
func (m *message) status() string {
	for i := range m.list {
		if !m.list[i].over() {
			return string(Firing)
		}
	}
	return m.list[0].status()
}

func (n *notice) status() string { return string(n.state) }

func (n *notice) over() bool { return n.state.over() }

// newMessage tells of alerts as they are now.
func newMessage(e *Env, link string, list []*alert, now time.Time) *message {
	m := &message{server: e.Server, at: now, link: link + "/alerts", about: list}
	for _, one := range list {
		n := notice{
			id: one.id, rule: one.rule.name, state: one.state, severity: one.rule.severity,
			labels: one.rule.labels, query: one.query, text: cut(one.text, longestText), why: one.why, todo: one.todo,
			fired: one.fired, ended: one.ended,
		}
		n.link = linkTo(link, &n, now)
		m.list = append(m.list, n)
	}
	m.title = titleOf(m.list)
	return m
}

// around is how much before an alert and after its end a link shows.
const around = 30 * time.Minute

func linkTo(link string, n *notice, now time.Time) string {
	from, to := n.fired.Add(-around), n.ended.Add(around)
	if !n.over() {
		to = now.Add(around)
	}
	return link + "/queries/" + url.PathEscape(n.query.id) + "?from=" + strconv.FormatInt(from.UnixMilli(), 10) +
		"&to=" + strconv.FormatInt(to.UnixMilli(), 10)
}

// titleOf is a message in a line.
func titleOf(list []notice) string {
	firing, over := 0, 0
	for i := range list {
		if list[i].over() {
			over++
		} else {
			firing++
		}
	}
	one := func(n *notice) string { return cut(n.query.name, 80) + ": " + cut(n.rule, 80) }
	switch {
	case len(list) == 1 && firing == 1:
		return "[" + string(list[0].severity) + "] " + one(&list[0])
	case len(list) == 1:
		return "[" + list[0].state.word() + "] " + one(&list[0])
	case over == 0:
		return fmt.Sprintf("%d alerts are firing, first %s", firing, one(&list[0]))
	case firing == 0:
		return fmt.Sprintf("%d alerts are over, first %s", over, one(&list[0]))
	default:
		return fmt.Sprintf("%s firing, %d over, first %s", plural(firing, "alert"), over, one(&list[0]))
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// cut shortens a text to so many letters and makes it one line of valid UTF-8.
func cut(text string, letters int) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	n := 0
	for i := range text {
		if n == letters-1 && len(text)-i > 1 {
			if rest := []rune(text[i:]); len(rest) > 1 {
				return text[:i] + "…"
			}
		}
		n++
	}
	return text
}

// plain is the message as a text, for e-mail.
func (m *message) plain() string {
	var b strings.Builder
	for i := range m.list {
		n := &m.list[i]
		fmt.Fprintf(&b, "%s: %s: %s\n", strings.ToUpper(n.state.word()), cut(n.query.name, 200), cut(n.rule, 200))
		fmt.Fprintf(&b, "  %s\n", n.text)
		for _, line := range n.why {
			fmt.Fprintf(&b, "  %s\n", cut(line, longestText))
		}
		for _, line := range n.todo {
			fmt.Fprintf(&b, "  What to do: %s\n", cut(line, longestText))
		}
		fmt.Fprintf(&b, "  %s since %s", n.severity, n.fired.UTC().Format("2006-01-02 15:04:05 UTC"))
		if n.over() {
			fmt.Fprintf(&b, ", over at %s", n.ended.UTC().Format("15:04:05 UTC"))
		}
		fmt.Fprintf(&b, "\n  %s\n\n", n.link)
	}
	fmt.Fprintf(&b, "All alerts of %s: %s\n", m.server, m.link)
	return b.String()
}
