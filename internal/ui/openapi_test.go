package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
)

// Every route of the API is in its description, and nothing else.
func TestTheDescriptionHasEveryRoute(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var routes []string
	for _, name := range sources {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`"((?:GET|POST) /api/[^" ]*)"`).FindAllSubmatch(text, -1) {
			routes = append(routes, string(found[1]))
		}
	}
	var described []string
	for _, o := range operations {
		described = append(described, o.method+" "+o.path)
	}
	for _, route := range routes {
		if !slices.Contains(described, route) {
			t.Errorf("%s is not in operations (openapi.go)", route)
		}
	}
	for _, one := range described {
		if !slices.Contains(routes, one) {
			t.Errorf("%s is described and not there", one)
		}
	}
}

// checker tells whether JSON is as its description says: what OpenAPI's own words here
// mean, and no more.
type checker struct {
	t       *testing.T
	schemas map[string]any
}

func (c *checker) check(where string, schema any, v any) {
	s := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		s = c.schemas[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any)
	}
	if any, ok := s["anyOf"].([]any); ok {
		if v != nil {
			c.check(where, any[0], v)
		}
		return
	}
	kinds := []string{}
	switch k := s["type"].(type) {
	case string:
		kinds = append(kinds, k)
	case []any:
		for _, one := range k {
			kinds = append(kinds, one.(string))
		}
	default:
		return // anything
	}
	switch v := v.(type) {
	case nil:
		c.want(where, kinds, "null")
	case bool:
		c.want(where, kinds, "boolean")
	case string:
		c.want(where, kinds, "string")
	case float64:
		if v == float64(int64(v)) && slices.Contains(kinds, "integer") {
			return
		}
		c.want(where, kinds, "number")
	case []any:
		c.want(where, kinds, "array")
		for i, item := range v {
			c.check(fmt.Sprintf("%s[%d]", where, i), s["items"], item)
		}
		if most, ok := s["maxItems"].(float64); ok && len(v) != int(most) {
			c.t.Errorf("%s has %d elements, not %v", where, len(v), most)
		}
	case map[string]any:
		c.want(where, kinds, "object")
		c.object(where, s, v)
	}
}

func (c *checker) object(where string, s, v map[string]any) {
	properties, _ := s["properties"].(map[string]any)
	for key, value := range v {
		schema := properties[key]
		if schema == nil {
			schema = s["additionalProperties"]
		}
		if schema == nil {
			c.t.Errorf("%s.%s is not described", where, key)
			continue
		}
		c.check(where+"."+key, schema, value)
	}
	needed, _ := s["required"].([]any)
	for _, key := range needed {
		if _, ok := v[key.(string)]; !ok {
			c.t.Errorf("%s lacks %s", where, key)
		}
	}
}

func (c *checker) want(where string, kinds []string, kind string) {
	if !slices.Contains(kinds, kind) {
		c.t.Errorf("%s is a %s, described as %v", where, kind, kinds)
	}
}

// The answers of a server with queries in every state, alerts and all pages, and those
// of the golden file, are as described.
func TestAnswersAreAsDescribed(t *testing.T) {
	a := newAlerted(t, "orders", "clicks")
	a.firing(t, 2)
	r := monitor.NewRegistry()
	q := watchedQuery(r)
	q.Terminate(time.Now(), &monitor.Failure{Message: "boom", Condition: "X"})
	watchedQuery(r)
	r.Start(monitor.Run{ID: q.ID(), RunID: "a later one", StartedAt: time.Now()}, monitor.NewBus())
	h := New(r, Options{
		Now: time.Now, Version: "1.2.3", Application: "weir-1", Alerts: a.alerts, Environment: func() []Group {
			return []Group{{"t",
				[]Setting{{"a", "b", "c"}}}}
		},
		Resources: func() Resources {
			return Resources{Workers: []WorkerUse{{PID: 1}}, Queries: []QueryUse{{q.RunID(), 1, 2}}}
		},
	})
	read := func(path string, into any) {
		t.Helper()
		w := get(t, h, "GET", path, "localhost")
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %v in %s", path, w.Code, err, w.Body)
		}
	}
	var doc apiDoc
	read("/api/v1/openapi.json", &doc)
	c := &checker{t, doc.Components.Schemas}
	seen := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			if seen[o.OperationID] {
				t.Errorf("two operations are called %s", o.OperationID)
			}
			seen[o.OperationID] = true
			content, isJSON := o.Responses["200"].Content["application/json"]
			if method != "get" || !isJSON {
				continue
			}
			asked := strings.NewReplacer("{id}", q.ID(), "{app}", "weir-1", "{runId}", q.RunID()).Replace(path)
			if path == "/api/v1/series" || path == "/api/v1/compare" {
				asked += "?query=" + q.ID()
			}
			var body any
			read(asked, &body)
			c.check(path, content.Schema, body)
		}
	}
	goldenAreAsDescribed(c, &doc)
	none := New(monitor.NewRegistry(), Options{Now: time.Now})
	body := get(t, none, "GET", "/api/v1/openapi.json", "localhost").Body.String()
	if strings.Contains(body, "/api/v1/alerts") || strings.Contains(body, "/api/v1/resources") {
		t.Error("a server without alerts describes them")
	}
}

// apiDoc is a description as far as it is checked against answers.
type apiDoc struct {
	Paths map[string]map[string]struct {
		OperationID string
		Responses   map[string]struct {
			Content map[string]struct{ Schema map[string]any }
		}
	}
	Components struct{ Schemas map[string]any }
}

// answerOf is the schema of what a GET answers.
func (d *apiDoc) answerOf(path string) any {
	return d.Paths[path]["get"].Responses["200"].Content["application/json"].Schema
}

// goldenAreAsDescribed checks the data that pages are rendered from.
func goldenAreAsDescribed(c *checker, doc *apiDoc) {
	t := c.t
	var golden []struct {
		Kind string
		Data map[string]any
	}
	data, err := os.ReadFile("testdata/render.json")
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range golden {
		where := fmt.Sprintf("render.json %d ", i)
		switch one.Kind {
		case "summary":
			c.check(where+"fleet", doc.answerOf("/api/v1/fleet"), one.Data)
		case "query":
			c.check(where+"detail", doc.answerOf("/api/v1/queries/{id}"), one.Data["detail"])
			c.check(where+"batches", doc.answerOf("/api/v1/queries/{id}/batches"), one.Data["batches"])
		}
	}
}
