package session

import (
	"regexp"
	"strings"
)

// matcher is a pattern of SHOW and of Catalog's lists: * stands for any
// characters, | separates alternatives, case does not count. "" matches all.
func matcher(pattern string) func(name string) bool {
	if pattern == "" || pattern == "*" {
		return func(string) bool { return true }
	}
	var all []*regexp.Regexp
	for part := range strings.SplitSeq(strings.TrimSpace(pattern), "|") {
		// As in Spark the rest of the pattern is a regular expression; one that is
		// none matches nothing.
		re, err := regexp.Compile("(?is)^(?:" + strings.ReplaceAll(part, "*", ".*") + ")$")
		if err == nil {
			all = append(all, re)
		}
	}
	return func(name string) bool {
		for _, re := range all {
			if re.MatchString(name) {
				return true
			}
		}
		return false
	}
}
