package alert

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

const (
	mostRules     = 200
	mostNotifiers = 20
	mostLabels    = 20
	longestName   = 200
	largestSecret = 64 << 10
)

// config is a file of rules as it is in force.
type config struct {
	rules     []*rule
	notifiers []notifier
	link      string
	repeat    time.Duration // between messages about what goes on firing
	groupBy   string
	groupWait time.Duration
}

// groupings are the ways to put alerts into messages.
var groupings = []string{"all", "rule", "query", "alert"}

// readConfig reads the file of rules. One that is not there is an empty one.
func readConfig(e *Env) (*config, error) {
	var data []byte
	if e.File != "" {
		var err error
		if data, err = vfs.ReadFile(e.Files, e.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	c, err := parseConfig(e, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.File, err)
	}
	return c, nil
}

func parseConfig(e *Env, data []byte) (*config, error) {
	root, err := parseYAML(data)
	if err != nil {
		return nil, err
	}
	if err := root.only("the file", "rules", "notify", "repeat", "group", "link"); err != nil {
		return nil, err
	}
	c := &config{rules: shippedRules(), groupBy: "all"}
	if c.repeat, err = root.spanOf("repeat", 30*time.Minute); err != nil {
		return nil, err
	}
	if c.repeat < time.Minute {
		return nil, root.find("repeat").wrong("repeat is at least a minute")
	}
	if c.link, err = readLink(root, e.Link); err != nil {
		return nil, err
	}
	if err := c.readGroup(root.find("group")); err != nil {
		return nil, err
	}
	if err := c.readNotifiers(e, root.find("notify")); err != nil {
		return nil, err
	}
	return c, c.readRules(root.find("rules"))
}

func readLink(root *node, otherwise string) (string, error) {
	link, err := root.textOf("link")
	if err != nil || link == "" {
		return otherwise, err
	}
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", root.find("link").wrong("link is where people find the pages, such as https://weir.example.org")
	}
	return strings.TrimSuffix(link, "/"), nil
}

func (c *config) readGroup(n *node) (err error) {
	c.groupWait = 10 * time.Second
	if n == nil || n.null {
		return nil
	}
	if err := n.only("group", "by", "wait"); err != nil {
		return err
	}
	by, err := n.textOf("by")
	if err != nil {
		return err
	}
	if by != "" {
		c.groupBy = by
	}
	if !slices.Contains(groupings, c.groupBy) {
		return n.find("by").wrong("by is all, rule, query or alert; the nearest to %s is %s", by, plan.Nearest(by,
			groupings))
	}
	c.groupWait, err = n.spanOf("wait", c.groupWait)
	return err
}

// elements are those of a list that may be missing.
func elements(n *node, what string, most int) ([]*node, error) {
	if n == nil || n.null {
		return nil, nil
	}
	if err := n.must(list, what); err != nil {
		return nil, err
	}
	if len(n.items) > most {
		return nil, n.wrong("%s has more than %d elements", what, most)
	}
	return n.items, nil
}

func (c *config) readRules(n *node) error {
	items, err := elements(n, "rules", mostRules)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, item := range items {
		if err := item.only("a rule", "name", "when", "for", "keep", "severity", "labels", "notify",
			"off"); err != nil {
			return err
		}
		name, err := item.textOf("name")
		if err != nil {
			return err
		}
		switch {
		case name == "" || len(name) > longestName:
			return item.wrong("a rule has a name, of at most %d bytes", longestName)
		case seen[name]:
			return item.wrong("there is another rule %s above", name)
		}
		seen[name] = true
		if err := c.readRule(item, name); err != nil {
			return err
		}
	}
	return nil
}

// readRule adds a rule, or changes the shipped one of the name.
func (c *config) readRule(n *node, name string) error {
	at := slices.IndexFunc(c.rules, func(r *rule) bool { return r.name == name })
	off, err := n.boolOf("off", false)
	if err != nil {
		return err
	}
	if off {
		if at < 0 {
			var names []string
			for _, r := range c.rules {
				names = append(names, r.name)
			}
			return n.wrong("there is no rule %s to switch off; the nearest is %s", name, plan.Nearest(name, names))
		}
		c.rules = slices.Delete(c.rules, at, at+1)
		return nil
	}
	r := &rule{name: name, severity: Warning}
	if at >= 0 {
		r = c.rules[at]
	} else {
		c.rules = append(c.rules, r)
	}
	if err := r.readCondition(n, at >= 0); err != nil {
		return err
	}
	if r.wait, err = n.spanOf("for", r.wait); err != nil {
		return err
	}
	if r.keep, err = n.spanOf("keep", r.keep); err != nil {
		return err
	}
	if r.severity, err = readSeverity(n, r.severity); err != nil {
		return err
	}
	return r.readAddressees(n, c.notifiers)
}

func (r *rule) readCondition(n *node, there bool) error {
	when, err := n.textOf("when")
	switch {
	case err != nil:
		return err
	case when == "" && there:
		return nil
	case when == "":
		return n.wrong("the rule %s has no condition: write when: backlogMs > 2 min, for instance", r.name)
	}
	r.holds, err = parseCondition(when)
	if err != nil {
		return n.find("when").wrong("when: %v", err)
	}
	r.when, r.about = strings.Join(strings.Fields(when), " "), nil
	return nil
}

func readSeverity(n *node, otherwise Severity) (Severity, error) {
	text, err := n.textOf("severity")
	if err != nil || text == "" {
		return otherwise, err
	}
	if !slices.Contains(severities, text) {
		return "", n.find("severity").wrong("severity is critical, warning or info; the nearest to %s is %s",
			text, plan.Nearest(text, severities))
	}
	return Severity(text), nil
}

func (r *rule) readAddressees(n *node, known []notifier) error {
	labels, err := n.labelsOf("labels")
	if err != nil {
		return err
	}
	if len(labels) > mostLabels {
		return n.find("labels").wrong("a rule has at most %d labels", mostLabels)
	}
	if labels != nil {
		r.labels = labels
	}
	to, err := n.listOf("notify")
	if err != nil {
		return err
	}
	var names []string
	for _, one := range known {
		names = append(names, one.name)
	}
	for _, name := range to {
		switch {
		case slices.Contains(names, name):
		case len(names) == 0:
			return n.find("notify").wrong("there is no notifier %s; the key notify of the file lists them", name)
		default:
			return n.find("notify").wrong("there is no notifier %s; the nearest is %s", name,
				plan.Nearest(name, names))
		}
	}
	if to != nil {
		r.to = to
	}
	return nil
}

// notifier is somebody who is told.
type notifier struct {
	name       string
	kind       *notifierKind
	receiver   receiver
	severities []string // nil: all
	repeat     time.Duration
	resolved   bool // whether the end of an alert is told, too
	print      [sha256.Size]byte
}

// same tells whether two notifiers send the same way to the same place.
func (n *notifier) same(other *notifier) bool { return n.print == other.print }

// takes tells whether the notifier is told of an alert.
func (n *notifier) takes(one *alert) bool {
	return (n.severities == nil || slices.Contains(n.severities, string(one.rule.severity))) &&
		(one.rule.to == nil || slices.Contains(one.rule.to, n.name))
}

func (c *config) readNotifiers(e *Env, n *node) error {
	items, err := elements(n, "notify", mostNotifiers)
	if err != nil {
		return err
	}
	for _, item := range items {
		one, err := c.readNotifier(e, item)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(c.notifiers, func(n notifier) bool { return n.name == one.name }) {
			return item.wrong("there is another notifier %s above", one.name)
		}
		c.notifiers = append(c.notifiers, *one)
	}
	return nil
}

func (c *config) readNotifier(e *Env, n *node) (*notifier, error) {
	names := kindsOfNotifiers()
	if err := n.only("a notifier", append(names, "name", "severity", "repeat", "resolved")...); err != nil {
		return nil, err
	}
	one := &notifier{}
	var at *node
	for i := range kinds {
		v := n.find(kinds[i].name)
		if v != nil && at != nil {
			return nil, v.wrong("a notifier is of one kind: %s or %s", one.kind.name, kinds[i].name)
		}
		if v != nil {
			at, one.kind = v, &kinds[i]
		}
	}
	if at == nil {
		return nil, n.wrong("a notifier is one of %s", strings.Join(names, ", "))
	}
	var err error
	if one.name, err = n.textOf("name"); err != nil {
		return nil, err
	}
	if one.name == "" {
		one.name = one.kind.name
	}
	if len(one.name) > longestName {
		return nil, n.wrong("a name has at most %d bytes", longestName)
	}
	if one.severities, err = n.listOf("severity"); err != nil {
		return nil, err
	}
	for _, s := range one.severities {
		if !slices.Contains(severities, s) {
			return nil, n.find("severity").wrong("there is no severity %s; the nearest is %s", s, plan.Nearest(s,
				severities))
		}
	}
	if one.repeat, err = n.spanOf("repeat", max(c.repeat, 0)); err != nil {
		return nil, err
	}
	if one.repeat = max(one.repeat, time.Minute); one.kind.resend > 0 {
		one.repeat = one.kind.resend
	}
	if one.resolved, err = n.boolOf("resolved", true); err != nil {
		return nil, err
	}
	s := &secrets{env: e}
	if one.receiver, err = one.kind.read(s, at); err != nil {
		return nil, err
	}
	one.print = sha256.Sum256(append(n.canonical(nil), s.seen...))
	return one, nil
}

// canonical is a node's text without its places.
func (n *node) canonical(dst []byte) []byte {
	dst = fmt.Appendf(dst, "%d%q[", n.is, n.text)
	for _, p := range n.pairs {
		dst = p.value.canonical(fmt.Appendf(dst, "%q:", p.key))
	}
	for _, item := range n.items {
		dst = item.canonical(dst)
	}
	return append(dst, ']')
}

// secrets finds what the file does not show (A3).
type secrets struct {
	env  *Env
	seen []byte // what was found
}

// of is the text of a key that may be written {file: PATH} or {env: NAME}.
func (s *secrets) of(n *node, key string) (string, error) {
	v := n.find(key)
	if v == nil || v.null || v.is == scalar {
		return n.textOf(key)
	}
	if err := v.only(key, "file", "env"); err != nil {
		return "", err
	}
	file, err1 := v.textOf("file")
	name, err2 := v.textOf("env")
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	found := ""
	switch {
	case (file == "") == (name == ""):
		return "", v.wrong("%s is a text, {file: PATH} or {env: NAME}", key)
	case name != "":
		value, ok := s.env.Variable(name)
		if !ok || value == "" {
			return "", v.wrong("%s: the environment has no variable %s", key, name)
		}
		found = value
	default:
		data, err := vfs.ReadFile(s.env.Files, file)
		if err != nil {
			return "", v.wrong("%s: %v", key, err)
		}
		if len(data) > largestSecret {
			return "", v.wrong("%s: the file %s is larger than %d bytes", key, file, largestSecret)
		}
		if found = strings.TrimSpace(string(data)); found == "" {
			return "", v.wrong("%s: the file %s is empty", key, file)
		}
	}
	s.seen = fmt.Appendf(s.seen, "%q", found)
	return found, nil
}

// needed is of for a key that has to be there.
func (s *secrets) needed(n *node, what, key string) (string, error) {
	text, err := s.of(n, key)
	if err == nil && text == "" {
		err = n.wrong("%s needs the key %s", what, key)
	}
	return text, err
}
