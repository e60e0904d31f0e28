package shelf

import (
	"strings"
	"testing"
)

func TestEveryFormatIsFoundByItsNames(t *testing.T) {
	last := ""
	for _, f := range Formats() {
		if f.Name <= last {
			t.Errorf("%s comes after %s", f.Name, last)
		}
		last = f.Name
		for _, name := range append([]string{f.Name, strings.ToUpper(f.Name)}, f.Aliases...) {
			if found, ok := Lookup(name); !ok || found != f {
				t.Errorf("%s is not found as %s", f.Name, name)
			}
		}
		if f.Doc == "" {
			t.Errorf("%s is not described", f.Name)
		}
	}
	if _, ok := Lookup("nosuch"); ok {
		t.Error("a format nosuch was found")
	}
}
