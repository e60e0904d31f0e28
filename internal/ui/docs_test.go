package ui

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/monitor/eventlog"
	"github.com/weir-dev/weir/internal/monitor/health"
	"github.com/weir-dev/weir/internal/testkit"
)

// docs/http-api.md names every path and every field; those of Spark's own port are in
// docs/metrics.md.
func TestTheGuideNamesEveryPathAndField(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(testkit.ModuleRoot(t), "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	guide := read("http-api.md")
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`"(?:GET|POST) (/[^" ]*)"`)
	paths := 0
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") || name == "spark.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range pattern.FindAllSubmatch(text, -1) {
			paths++
			path := strings.TrimSuffix(string(found[1]), "{$}")
			named := regexp.MustCompile("`((GET|POST) )?" + regexp.QuoteMeta(path) + "[`?]").MatchString(guide)
			if !named && path != "/assets/{name...}" && path != "/metrics" {
				t.Errorf("the guide does not name %s", path)
			}
		}
	}
	if paths < 12 {
		t.Errorf("only %d paths were found", paths)
	}
	fields := map[string]bool{}
	for _, body := range []any{
		fleet{}, detail{}, queryList{}, batchList{}, logList{}, seriesJSON{}, build{}, resourcesJSON{},
		environmentJSON{}, fleetEvent{}, queryEvent{}, alertsEvent{}, apiError{},
		runList{}, pastRun{}, comparison{}, week{}, eventlog.Push{}, eventlog.Pushed{},
		alertsJSON{}, silencing{}, silencedJSON{}, reloadedJSON{}, csrfJSON{},
	} {
		addFields(reflect.TypeOf(body), fields)
	}
	for c := range health.PhaseColumns {
		fields[c.String()] = true
	}
	for field := range fields {
		if !regexp.MustCompile(`\b` + field + `\b`).MatchString(guide) {
			t.Errorf("the guide does not name the field %s", field)
		}
	}
}

// addFields collects the JSON names of a type and of those in it.
func addFields(t reflect.Type, to map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		addFields(t.Elem(), to)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				to[name] = true
			}
			if f.IsExported() || f.Anonymous {
				addFields(f.Type, to)
			}
		}
	}
}
