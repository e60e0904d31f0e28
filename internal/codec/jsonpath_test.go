package codec

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The table holds documents and paths with what Spark's get_json_object,
// json_array_length and json_object_keys give for them, each as JSON.
func TestPathsFindWhatSparksDo(t *testing.T) {
	compared := 0
	eachLine(t, "testdata/jsonpath.tsv", func(line []byte) {
		if line[0] == '#' {
			return
		}
		var doc, path string
		var found *string
		var length *int
		var keys []string
		for i, v := range []any{&doc, &path, &found, &length, &keys} {
			if err := json.Unmarshal([]byte(strings.Split(string(line), "\t")[i]), v); err != nil {
				t.Fatal(err)
			}
		}
		compared++
		var f JSONFinder
		if p, ok := ParseJSONPath(path); ok || found != nil {
			got, some := f.Append([]byte("<"), []byte(doc), p)
			if some != (found != nil) || some && string(got) != "<"+*found || !some && string(got) != "<" {
				t.Errorf("%s of %s: %s, want %v", path, doc, got, showText(found))
			}
		}
		if n, ok := f.Len([]byte(doc)); ok != (length != nil) || ok && n != *length {
			t.Errorf("length of %s: %d %v, want %v", doc, n, ok, length)
		}
		var names []string
		ok := f.Keys([]byte(doc), func(b []byte) { names = append(names, string(b)) })
		if ok != (keys != nil) || ok && !slices.Equal(names, keys) {
			t.Errorf("names of %s: %q %v, want %q", doc, names, ok, keys)
		}
	})
	if compared < 100 {
		t.Errorf("only %d cases", compared)
	}
}

func showText(s *string) string {
	if s == nil {
		return "nothing"
	}
	return *s
}

// Spark reads 1,000 levels and no more.
func TestDeepDocumentsAreNoJSON(t *testing.T) {
	var f JSONFinder
	for depth, want := range map[int]bool{1000: true, 1001: false} {
		doc := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		if n, ok := f.Len([]byte(doc)); ok != want || ok && n != 1 {
			t.Errorf("a depth of %d: %d %v", depth, n, ok)
		}
	}
}

func FuzzJSONPath(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,{"b":"x"}]}`, `[[1],["\ud83d\ude00"]]`, `{'a':-0}`, `[`, `"`, `[1 2]`,
	} {
		f.Add(seed, "$.a[*].b")
		f.Add(seed, "$[*][*]")
		f.Add(seed, "$")
	}
	f.Fuzz(func(t *testing.T, doc, path string) {
		p, ok := ParseJSONPath(path)
		if !ok {
			return
		}
		var finder JSONFinder
		out, found := finder.Append(nil, []byte(doc), p)
		if !found && len(out) > 0 {
			t.Errorf("%q was written and not found", out)
		}
		object := len(p.steps) == 0 && json.Valid([]byte(doc)) && doc[0] == '{'
		if object && found && !json.Valid(out) {
			t.Errorf("%s became %s", doc, out)
		}
	})
}
