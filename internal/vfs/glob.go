package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

const (
	// maxAlternatives bounds the patterns that braces around slashes make.
	maxAlternatives = 10_000
	// maxMatches bounds the paths of one glob and the entries of one walk.
	maxMatches = 4 << 20
)

// GlobError means that a pattern cannot be read.
type GlobError struct {
	Pattern string
	Reason  string
}

func (e *GlobError) Error() string { return fmt.Sprintf("glob %q: %s", e.Pattern, e.Reason) }

// HasGlob reports whether a path is a pattern to Spark rather than a name.
func HasGlob(p string) bool { return strings.ContainsAny(p, `{}[]*?\`) }

// Glob returns the paths that a Hadoop glob matches, in Hadoop's order (by their
// encoded text): * and ? within one name, leading dots included, [abc], [a-c],
// [^a] and [!a], {a,b} also around slashes, and \ before a character to take it
// as it is. A pattern without matches gives none and no error.
func Glob(fsys FS, pattern string) ([]string, error) {
	alternatives, err := expandBraces(pattern)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, alternative := range alternatives {
		paths, err := globOne(fsys, alternative)
		if err != nil {
			return nil, err
		}
		found = append(found, paths...)
		if len(found) > maxMatches {
			return nil, &GlobError{pattern, fmt.Sprintf("more than %d matches", maxMatches)}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return strings.Compare(EncodePath(a), EncodePath(b)) })
	return slices.Compact(found), nil
}

// NameMatcher is the test whether a glob without slashes matches a name.
func NameMatcher(pattern string) (func(name string) bool, error) {
	re, err := compileGlob(pattern, pattern)
	if err != nil {
		return nil, err
	}
	if re == nil {
		plain := unescape(pattern)
		return func(name string) bool { return name == plain }, nil
	}
	return re.MatchString, nil
}

// globOne follows a pattern without braces around slashes, one name at a time.
func globOne(fsys FS, pattern string) ([]string, error) {
	at := []string{"/"}
	elems := strings.Split(strings.Trim(pattern, "/"), "/")
	for i, elem := range elems {
		last := i == len(elems)-1
		match, err := compileGlob(pattern, elem)
		if err != nil {
			return nil, err
		}
		if match == nil {
			at, err = stepInto(fsys, at, unescape(elem), last)
		} else {
			at, err = stepMatching(fsys, at, match, last)
		}
		if err != nil || len(at) == 0 {
			return nil, err
		}
	}
	return at, nil
}

// stepInto extends each path by a name. Whether a directory on the way exists
// shows at the next pattern or at the end.
func stepInto(fsys FS, at []string, name string, last bool) ([]string, error) {
	next := at[:0]
	for _, dir := range at {
		p := path.Join(dir, name)
		if last {
			if _, err := fsys.Stat(p); NotFound(err) {
				continue
			} else if err != nil {
				return nil, err
			}
		}
		next = append(next, p)
	}
	return next, nil
}

func stepMatching(fsys FS, at []string, match *regexp.Regexp, last bool) ([]string, error) {
	var next []string
	for _, dir := range at {
		infos, err := fsys.List(dir)
		if NotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			if !match.MatchString(info.Name) || !last && info.Kind != Dir && info.Kind != Symlink {
				continue
			}
			next = append(next, path.Join(dir, info.Name))
		}
		if len(next) > maxMatches {
			return nil, &GlobError{match.String(), fmt.Sprintf("more than %d matches", maxMatches)}
		}
	}
	return next, nil
}

// NotFound reports that an error means "no such path": nothing has the name, or
// the path goes through a file. Spark answers both with PATH_NOT_FOUND.
func NotFound(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// isLoop reports that symbolic links lead in a circle.
func isLoop(err error) bool { return errors.Is(err, syscall.ELOOP) }

// compileGlob translates one name of a pattern; nil when it is a plain name.
// Hadoop translates to the same regular expressions, RE2 as Go's, which decides
// about odd classes such as []a] alike.
func compileGlob(pattern, elem string) (*regexp.Regexp, error) {
	t := translator{rest: elem}
	t.out.WriteString(`(?s)^`)
	for t.rest != "" {
		if err := t.next(); err != "" {
			return nil, &GlobError{pattern, err}
		}
	}
	switch {
	case t.class:
		return nil, &GlobError{pattern, "unclosed character class"}
	case t.depth > 0:
		return nil, &GlobError{pattern, "unclosed group"}
	case !t.wild:
		return nil, nil
	}
	t.out.WriteByte('$')
	re, err := regexp.Compile(t.out.String())
	if err != nil {
		return nil, &GlobError{pattern, err.Error()}
	}
	return re, nil
}

type translator struct {
	rest  string
	out   strings.Builder
	prev  rune
	wild  bool // has something other than plain characters
	class bool // inside [ ]
	depth int  // open braces
}

// next translates one character and returns what is wrong with it.
func (t *translator) next() string {
	r, size := utf8.DecodeRuneInString(t.rest)
	text := t.rest[:size]
	t.rest = t.rest[size:]
	prev := t.prev
	t.prev = r
	switch {
	case r == '\\':
		if t.rest == "" {
			return "nothing follows the escape character"
		}
		_, size = utf8.DecodeRuneInString(t.rest)
		t.literal(t.rest[:size])
		t.rest = t.rest[size:]
	case t.class:
		return t.inClass(r, prev, text)
	case r == '[':
		t.wild, t.class = true, true
		t.out.WriteByte('[')
	case r == '*':
		t.wild = true
		t.out.WriteString(`.*`)
	case r == '?':
		t.wild = true
		t.out.WriteByte('.')
	case r == '{':
		t.wild = true
		t.depth++
		t.out.WriteString(`(?:`)
	case r == ',' && t.depth > 0:
		t.out.WriteByte('|')
	case r == '}' && t.depth > 0:
		t.depth--
		t.out.WriteByte(')')
	case r == ']': // may close a class that the expression sees open still
		t.out.WriteByte(']')
	default:
		t.literal(text)
	}
	return ""
}

func (t *translator) inClass(r, prev rune, text string) string {
	switch {
	case r == '[':
		return "unclosed character class"
	case r == ']':
		t.class = false
		t.out.WriteByte(']')
	case r == '!' && prev == '[':
		t.out.WriteByte('^')
	default:
		t.out.WriteString(text)
	}
	return ""
}

// literal writes a character that stands for itself, inside a class too.
func (t *translator) literal(text string) {
	if text == "-" && t.class {
		text = `\-`
	} else {
		text = regexp.QuoteMeta(text)
	}
	t.out.WriteString(text)
}

func unescape(elem string) string {
	if !strings.Contains(elem, `\`) {
		return elem
	}
	var b strings.Builder
	for i := 0; i < len(elem); i++ {
		if elem[i] == '\\' && i+1 < len(elem) {
			i++
		}
		b.WriteByte(elem[i])
	}
	return b.String()
}

// expandBraces replaces braces that contain a slash by one pattern for each
// alternative; a slash cannot match inside one name. Other braces stay.
func expandBraces(pattern string) ([]string, error) {
	todo, done := []string{pattern}, []string(nil)
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		group, ok := findSlashGroup(p)
		if !ok {
			done = append(done, p)
			continue
		}
		var expanded []string
		for _, alternative := range group.alternatives {
			expanded = append(expanded, p[:group.start]+alternative+p[group.end:])
		}
		todo = append(expanded, todo...)
		if len(todo)+len(done) > maxAlternatives {
			return nil, &GlobError{pattern, fmt.Sprintf("more than %d alternatives", maxAlternatives)}
		}
	}
	return done, nil
}

// braceGroup is {a,b/c} at p[start:end].
type braceGroup struct {
	start, end   int
	alternatives []string
}

// findSlashGroup returns the first outermost group with a slash in it. A brace
// that never closes is left for compileGlob to refuse.
func findSlashGroup(p string) (braceGroup, bool) {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			group, ok := readGroup(p, i)
			if !ok {
				return braceGroup{}, false
			}
			if strings.Contains(p[group.start:group.end], "/") {
				return group, true
			}
			i = group.end - 1
		}
	}
	return braceGroup{}, false
}

func readGroup(p string, start int) (braceGroup, bool) {
	group := braceGroup{start: start}
	depth, from := 0, start+1
	for i := start; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			i++
		case c == '{':
			depth++
		case c == ',' && depth == 1:
			group.alternatives = append(group.alternatives, p[from:i])
			from = i + 1
		case c == '}':
			if depth--; depth == 0 {
				group.alternatives = append(group.alternatives, p[from:i])
				group.end = i + 1
				return group, true
			}
		}
	}
	return group, false
}
