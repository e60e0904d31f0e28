package javaregex_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/weir-dev/weir/internal/function/javaregex"
)

// recording is a pattern and what java.util.regex of Java 17 finds: for each
// subject the bounds, in characters, of every match and its groups.
type recording struct {
	Pattern string `json:"p"`
	Bad     bool   `json:"bad"`
	Finds   []struct {
		Subject string
		Matches [][][2]int
	} `json:"-"`
	Raw [][2]json.RawMessage `json:"m"`
}

func recordings(t testing.TB) []recording {
	f, err := os.Open("testdata/java17.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []recording
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		var r recording
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// leftovers is the number of recorded subjects in which groups differ: Java
// keeps what a group matched in an attempt that it gave up. It may only shrink.
const leftovers = 23

func TestPatternsMatchAsInJava(t *testing.T) {
	differ := 0
	for _, r := range recordings(t) {
		p, err := javaregex.Compile(r.Pattern)
		if err != nil && !errors.Is(err, javaregex.ErrSyntax) {
			continue
		}
		ok := err == nil
		if ok == r.Bad {
			t.Errorf("%q compiles: %v, in Java: %v", r.Pattern, ok, !r.Bad)
			continue
		}
		if !ok {
			continue
		}
		for _, raw := range r.Raw {
			var subject string
			var want [][][2]int
			if json.Unmarshal(raw[0], &subject) != nil || json.Unmarshal(raw[1], &want) != nil {
				t.Fatalf("%q: cannot read the recording", r.Pattern)
			}
			got := find(t, p, subject)
			if !slices.EqualFunc(got, want, func(a, b [][2]int) bool { return a[0] == b[0] }) {
				t.Errorf("%q in %q: %v, in Java: %v", r.Pattern, subject, got, want)
			} else if !slices.EqualFunc(got, want, slices.Equal) {
				differ++
			}
			if found, err := p.Match(subject); err != nil || found != (len(want) > 0) {
				t.Errorf("%q in %q matches: %v %v", r.Pattern, subject, found, err)
			}
		}
	}
	if differ != leftovers {
		t.Errorf("the groups in %d subjects differ, not of %d", differ, leftovers)
	}
}

func find(t *testing.T, p *javaregex.Pattern, s string) [][][2]int {
	var all [][][2]int
	err := p.All(s, 0, func(at []int) bool {
		var groups [][2]int
		for i := 0; i < len(at); i += 2 {
			groups = append(groups, [2]int{runes(s, at[i]), runes(s, at[i+1])})
		}
		all = append(all, groups)
		return len(all) < 20
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// runes is the number of characters before a byte offset.
func runes(s string, at int) int {
	if at < 0 {
		return -1
	}
	return utf8.RuneCountInString(s[:at])
}

func FuzzMatchingAgreesWithItself(f *testing.F) {
	for _, p := range []string{"", "a*", "(a|b)+?c$", `[^\w&&[a-z]]`, `(?i)\bx\1`, `\Qa\E{2,}`,
		`(?<n>a)\k<n>`, "[&&", "((((", `\p{L}`} {
		f.Add(p, "abc xX\r\nab")
	}
	f.Fuzz(func(t *testing.T, pattern, subject string) {
		p, err := javaregex.Compile(pattern)
		if err != nil || len(subject) > 40 || len(pattern) > 40 || !utf8.ValidString(subject) {
			return
		}
		found, err := p.Match(subject)
		if err != nil {
			return
		}
		at, err := p.First(subject)
		if err != nil || found != (at != nil) {
			t.Fatalf("%q in %q: matches %v, first at %v (%v)", pattern, subject, found, at, err)
		}
		var all [][]int
		if err := p.All(subject, 0, func(at []int) bool {
			all = append(all, slices.Clone(at))
			return true
		}); err != nil || found != (len(all) > 0) {
			t.Fatalf("%q in %q: matches %v, %d times (%v)", pattern, subject, found, len(all), err)
		}
		if found && !slices.Equal(at[:2], all[0][:2]) {
			t.Fatalf("%q in %q: first at %v, of all at %v", pattern, subject, at, all[0])
		}
	})
}
