package codec

import (
	"strconv"
	"strings"
)

// JSONPath is a path of get_json_object: $ and then .name, ['name'], [3] or [*].
type JSONPath struct{ steps []jsonStep }

// jsonStep leads into members by name or into elements.
type jsonStep struct {
	kind  jsonStepKind
	name  string
	index int64
}

type jsonStepKind uint8

const (
	stepName jsonStepKind = iota
	stepIndex
	stepEach  // [*]
	stepNever // .* and ['*'], by which Spark finds nothing
)

// JSONMember is the path of a member of an object.
func JSONMember(name string) JSONPath { return JSONPath{[]jsonStep{{kind: stepName, name: name}}} }

// ParseJSONPath reads a path; false when it is none. Blanks are where Spark's
// parser lets them be.
func ParseJSONPath(text string) (JSONPath, bool) {
	var p JSONPath
	rest, ok := strings.CutPrefix(text, "$")
	for ok {
		var step jsonStep
		before := rest
		if step, rest, ok = jsonPathStep(rest); ok {
			p.steps = append(p.steps, step)
		} else if strings.TrimLeft(before, javaBlanks) == "" {
			return p, true
		}
	}
	return p, false
}

// javaBlanks is \s of Java's patterns.
const javaBlanks = " \t\n\v\f\r"

// jsonPathStep reads the step that a text begins with.
func jsonPathStep(text string) (step jsonStep, rest string, ok bool) {
	next := strings.TrimLeft(text, javaBlanks)
	for _, wild := range [...]string{".*", "['*']"} {
		if rest, ok = strings.CutPrefix(next, wild); ok {
			return jsonStep{kind: stepNever}, rest, true
		}
	}
	if rest, ok = strings.CutPrefix(text, "."); ok {
		rest = strings.TrimLeft(rest, javaBlanks)
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		return jsonStep{name: rest[:end]}, rest[end:], end > 0
	}
	if rest, ok = strings.CutPrefix(next, "['"); ok {
		rest = strings.TrimLeft(rest, javaBlanks)
		name, behind, _ := strings.Cut(rest, "'")
		rest, ok = strings.CutPrefix(behind, "]")
		return jsonStep{name: name}, rest, ok && name != ""
	}
	if rest, ok = strings.CutPrefix(text, "[*]"); ok {
		return jsonStep{kind: stepEach}, rest, true
	}
	if rest, ok = strings.CutPrefix(text, "["); !ok {
		return step, text, false
	}
	digits, rest, ok := strings.Cut(strings.TrimLeft(rest, javaBlanks), "]")
	n, err := strconv.ParseUint(digits, 10, 63)
	return jsonStep{kind: stepIndex, index: int64(n)}, rest, ok && err == nil
}

// JSONFinder looks into JSON documents as Spark's functions on texts do: what
// follows a document does not matter, and strings may have single quotes. It
// serves one goroutine.
type JSONFinder struct {
	scan jsonScanner
	out  jsonOut
}

// jsonOut writes what a path finds. It puts separators as Jackson does, whose
// documents may hold several values with blanks between them.
type jsonOut struct {
	b     []byte
	items []int // of the arrays that are open, the document first
	// pairs writes characters beyond U+FFFF as two escapes. Jackson does when it
	// writes bytes; what goes through an array's own buffer it leaves.
	pairs bool
}

func (o *jsonOut) value() {
	last := len(o.items) - 1
	if o.items[last] > 0 && last == 0 {
		o.b = append(o.b, ' ')
	} else if o.items[last] > 0 {
		o.b = append(o.b, ',')
	}
	o.items[last]++
}

func (o *jsonOut) open() {
	o.value()
	o.b = append(o.b, '[')
	o.items = append(o.items, 0)
}

func (o *jsonOut) close() {
	o.b = append(o.b, ']')
	o.items = o.items[:len(o.items)-1]
}

// jsonStyle is how what a path ends at is written.
type jsonStyle uint8

const (
	styleRaw    jsonStyle = iota // a string without its quotes
	styleQuoted                  // JSON
	styleFlat                    // JSON, arrays as their elements
)

func (f *JSONFinder) begin(doc []byte) int {
	f.scan.jsonGrammar = jsonGrammar{singleQuotes: true, controlChars: true, replaceBadUTF8: true}
	f.scan.b, f.scan.depth = doc, 0
	return f.scan.space(0)
}

// Append appends what a path finds in a document; false when it finds nothing or
// the document is not JSON.
func (f *JSONFinder) Append(dst, doc []byte, p JSONPath) ([]byte, bool) {
	i := f.begin(doc)
	f.out = jsonOut{b: dst, items: append(f.out.items[:0], 0), pairs: true}
	next, found := f.find(i, styleRaw, p.steps)
	if len(p.steps) == 0 && next > 0 && !f.endsNumber(i, next) {
		next = -1
	}
	if next < 0 || !found {
		return dst, false
	}
	return f.out.b, true
}

// endsNumber reports whether a number that is the document ends where it was
// read to; other values end by themselves.
func (f *JSONFinder) endsNumber(i, next int) bool {
	b := f.scan.b
	isNumber := b[i] == '-' || b[i]-'0' <= 9
	return !isNumber || next == len(b) || strings.IndexByte(" \n\r\t", b[next]) >= 0
}

// Keys calls a function for each name of an object; false when the document is
// none.
func (f *JSONFinder) Keys(doc []byte, key func([]byte)) bool {
	i := f.begin(doc)
	return i < len(doc) && doc[i] == '{' && f.members(i, func(name []byte, at int) int {
		key(name)
		return f.scan.skip(at)
	}) > 0
}

// Len counts the elements of an array; false when the document is none.
func (f *JSONFinder) Len(doc []byte) (n int, ok bool) {
	i := f.begin(doc)
	ok = i < len(doc) && doc[i] == '[' && f.elements(i, func(at int) int {
		n++
		return f.scan.skip(at)
	}) > 0
	return n, ok
}

// find writes what the steps lead to from the value at i. It returns the place
// behind the value, -1 when that is no JSON.
func (f *JSONFinder) find(i int, style jsonStyle, steps []jsonStep) (next int, found bool) {
	if i >= len(f.scan.b) {
		return -1, false
	}
	c := f.scan.b[i]
	switch {
	case len(steps) == 0:
		return f.write(i, style)
	case c == '{' && steps[0].kind == stepName:
		return f.member(i, style, steps)
	case c == '[' && steps[0].kind == stepIndex:
		return f.element(i, style, steps)
	case c == '[' && steps[0].kind == stepEach:
		return f.each(i, style, steps[1:])
	default:
		return f.scan.skip(i), false
	}
}

// write writes the value that a path ends at.
func (f *JSONFinder) write(i int, style jsonStyle) (next int, found bool) {
	switch c := f.scan.b[i]; {
	case style == styleRaw && (c == '"' || c == '\''):
		text, next := f.scan.str(i)
		f.out.b = append(f.out.b, text...)
		return next, true
	case style == styleFlat && c == '[':
		return f.all(i, styleFlat, nil)
	default:
		f.out.value()
		return f.copied(i), true
	}
}

// member goes into the first member of a name that has something.
func (f *JSONFinder) member(i int, style jsonStyle, steps []jsonStep) (next int, found bool) {
	next = f.members(i, func(name []byte, at int) (end int) {
		if found || string(name) != steps[0].name || f.scan.word(at, "null") > 0 {
			return f.scan.skip(at)
		}
		end, found = f.find(at, style, steps[1:])
		return end
	})
	return next, found
}

func (f *JSONFinder) element(i int, style jsonStyle, steps []jsonStep) (next int, found bool) {
	if len(steps) > 1 && steps[1].kind == stepEach {
		style = styleQuoted
	}
	n := int64(-1)
	next = f.elements(i, func(at int) (end int) {
		if n++; n != steps[0].index {
			return f.scan.skip(at)
		}
		end, found = f.find(at, style, steps[1:])
		return end
	})
	return next, found
}

// each goes into all elements: two [*] in a row flatten, and below one alone a
// single find is not put into an array.
func (f *JSONFinder) each(i int, style jsonStyle, steps []jsonStep) (next int, found bool) {
	double := len(steps) > 0 && steps[0].kind == stepEach
	if double || style == styleQuoted {
		f.out.open()
		if double {
			next, found = f.all(i, styleFlat, steps[1:])
		} else {
			next, found = f.all(i, styleQuoted, steps)
		}
		f.out.close()
		return next, found
	}
	if style == styleRaw {
		style = styleQuoted
	}
	before, pairs, last := len(f.out.b), f.out.pairs, len(f.out.items)-1
	f.out.pairs = false
	f.out.open()
	start, finds := len(f.out.b), 0
	next = f.elements(i, func(at int) int {
		end, found := f.find(at, style, steps)
		if found {
			finds++
		}
		return end
	})
	f.out.close()
	f.out.pairs = pairs
	switch finds {
	case 0:
		f.out.b = f.out.b[:before]
		f.out.items[last]--
	case 1:
		b := f.out.b
		f.out.b = append(b[:start-1], b[start:len(b)-1]...)
	}
	return next, finds > 0
}

// all goes into every element.
func (f *JSONFinder) all(i int, style jsonStyle, steps []jsonStep) (next int, found bool) {
	next = f.elements(i, func(at int) int {
		end, some := f.find(at, style, steps)
		found = found || some
		return end
	})
	return next, found
}
