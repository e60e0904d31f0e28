package variant

import (
	"strconv"
	"strings"
)

// Path leads to a part of a variant: $.name, $['name'], $["name"] and $[3], in any number.
type Path []step

// step is a field by its name, or an element by its number.
type step struct {
	name  string
	at    int
	array bool
}

// ParsePath reads a path; false when a text is none.
func ParsePath(text string) (Path, bool) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, false
	}
	path := Path{}
	for rest != "" {
		var s step
		if s, rest, ok = readStep(rest); !ok {
			return nil, false
		}
		path = append(path, s)
	}
	return path, true
}

func readStep(text string) (s step, rest string, ok bool) {
	if name, ok := strings.CutPrefix(text, "."); ok {
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		return step{name: name[:end]}, name[end:], end > 0
	}
	in, ok := strings.CutPrefix(text, "[")
	if !ok || in == "" {
		return s, "", false
	}
	if q := in[0]; q == '\'' || q == '"' {
		end := strings.IndexByte(in[1:], q)
		if end <= 0 || !strings.HasPrefix(in[1+end+1:], "]") {
			return s, "", false
		}
		return step{name: in[1 : 1+end]}, in[1+end+2:], true
	}
	number, rest, ok := strings.Cut(in, "]")
	if !ok || strings.Trim(number, "0123456789") != "" {
		return s, "", false
	}
	at, err := strconv.ParseInt(number, 10, 32)
	return step{at: int(at), array: true}, rest, err == nil
}

// Get is the part of v that a path leads to; false when there is none.
func (p Path) Get(v Value) (Value, bool, error) {
	for _, s := range p {
		want := Object
		if s.array {
			want = Array
		}
		k := v.Kind()
		if k == Unknown {
			return v, false, ErrMalformed
		}
		if k != want {
			return v, false, nil
		}
		list, err := v.List()
		if err != nil {
			return v, false, err
		}
		ok := s.at < list.Len
		if !s.array {
			v, ok, err = list.Field(s.name)
		} else if ok {
			v, err = list.At(s.at)
		}
		if !ok || err != nil {
			return v, false, err
		}
	}
	return v, true, nil
}
