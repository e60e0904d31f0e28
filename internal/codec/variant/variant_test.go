package variant_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/codec"
	"github.com/weir-dev/weir/internal/codec/variant"
	"github.com/weir-dev/weir/internal/testkit"
)

// printed is a variant as JSON.
func printed(v variant.Value) string {
	return string(codec.AppendVariant(nil, v.Data, v.Metadata, codec.NewOffsets(time.UTC)))
}

// sameJSON reports whether two texts hold the same values, as the library of Go reads them.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	normal := func(text []byte) []byte {
		var x any
		if err := json.Unmarshal(text, &x); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	return bytes.Equal(normal(a), normal(b))
}

// sizes is how many elements a document has, by how deep they may be nested.
var sizes = [...]int{0, 300, 5, 5}

// document is random JSON.
func document(r *rand.Rand, depth int) any {
	switch k := r.IntN(8); {
	case k == 0 && depth > 0:
		list := make([]any, r.IntN(sizes[depth]))
		for i := range list {
			list[i] = document(r, depth-1)
		}
		return list
	case k <= 2 && depth > 0:
		object := map[string]any{}
		for range r.IntN(sizes[depth]) {
			object[strconv.Itoa(r.IntN(1000))+string(rune('a'+r.IntN(500)))] = document(r, depth-1)
		}
		return object
	case k == 3:
		return r.Int64() >> r.IntN(64)
	case k == 4:
		return r.NormFloat64()
	case k == 5:
		return r.IntN(2) == 0
	case k == 6:
		return nil
	}
	return string(bytes.Repeat([]byte{'x'}, r.IntN(100)))
}

func TestParsedJSONIsPrintedAsItWas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b variant.Builder
	for range 300 {
		text, err := json.Marshal(document(r, 3))
		if err != nil {
			t.Fatal(err)
		}
		b.Reset()
		if err := b.ParseJSON(text); err != nil {
			t.Fatalf("%.200s: %v", text, err)
		}
		v, err := b.Value()
		if err != nil {
			t.Fatal(err)
		}
		if got := printed(v); !sameJSON(t, []byte(got), text) {
			t.Fatalf("got %.300s, want %.300s", got, text)
		}
		again := variant.Builder{}
		again.Reset()
		if err := again.Append(v); err != nil {
			t.Fatal(err)
		}
		copied, err := again.Value()
		if err != nil || printed(copied) != printed(v) {
			t.Fatalf("a copy of %.200s is %.200s, %v", printed(v), printed(copied), err)
		}
	}
}

func TestPaths(t *testing.T) {
	var b variant.Builder
	b.Reset()
	if err := b.ParseJSON([]byte(`{"a":{"b c":[10,{"d":"x"}],"":1},"k.l":2}`)); err != nil {
		t.Fatal(err)
	}
	v, err := b.Value()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"$": `{"a":{"":1,"b c":[10,{"d":"x"}]},"k.l":2}`, "$.a['b c'][0]": "10", `$["a"]["b c"][1].d`: `"x"`,
		"$['k.l']": "2", "$.a.b c[1]": `{"d":"x"}`, "$.k.l": "none", "$.a[0]": "none", "$.a['b c'].x": "none", "$.a['b c'][2]": "none",
		"": "bad", "a": "bad", "$a": "bad", "$.": "bad", "$[": "bad", "$[]": "bad", "$['']": "bad", "$[-1]": "bad", "$['a]": "bad",
		"$[99999999999]": "bad",
	} {
		got := "bad"
		if p, ok := variant.ParsePath(path); ok {
			part, found, err := p.Get(v)
			if got = "none"; err != nil {
				t.Fatal(err)
			} else if found {
				got = printed(part)
			}
		}
		testkit.Diff(t, path, got, want)
	}
}

// A small variant whose elements share their bytes would be endless when it is written out.
func TestElementsThatShareBytesAreBounded(t *testing.T) {
	value := []byte{0x00}
	for range 100 {
		// An array of 255 elements that all begin at the same byte.
		head := []byte{3<<2 | 3, 255}
		for range 255 {
			head = append(head, 0, 0, 0, 0)
		}
		head = append(head, byte(len(value)), byte(len(value)>>8), byte(len(value)>>16), 0)
		value = append(head, value...)
	}
	v := variant.Value{Data: value, Metadata: []byte{1, 0, 0}}
	var b variant.Builder
	b.Reset()
	if err := b.Append(v); !errors.Is(err, variant.ErrMalformed) {
		t.Errorf("got %v, want ErrMalformed", err)
	}
	if got := printed(v); got != "null" {
		t.Errorf("printed as %.100s", got)
	}
}

func FuzzValue(f *testing.F) {
	f.Add([]byte{2, 1, 0, 0, 2, 12, 1}, []byte{1, 1, 0, 1, 'a'})
	f.Add([]byte{3, 2, 0, 2, 4, 12, 1, 12, 2}, []byte{1, 0, 0})
	f.Fuzz(func(t *testing.T, data, metadata []byte) {
		v := variant.Value{Data: data, Metadata: metadata}
		_ = printed(v)
		var b variant.Builder
		b.Reset()
		if b.Append(v) != nil {
			return
		}
		w, err := b.Value()
		if err == nil && printed(w) != printed(v) && w.Kind() != variant.Object {
			t.Errorf("a copy of %s is %s", printed(v), printed(w))
		}
		for _, text := range []string{"$.a[0]", "$[0].a", "$[1]"} {
			p, _ := variant.ParsePath(text)
			_, _, _ = p.Get(v)
		}
	})
}

func FuzzParseJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5e3,"x",null,true]}`, `"\ud83d\ude00"`, "-0", "[[", "1e", "1 x"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var b variant.Builder
		b.Reset()
		err := b.ParseJSON(text)
		if json.Valid(text) && errors.Is(err, variant.ErrNotJSON) {
			t.Errorf("%q is JSON", text)
		}
		if err != nil {
			return
		}
		if v, err := b.Value(); err == nil {
			_ = printed(v)
		}
	})
}
