package ui

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-dev/weir/internal/monitor/eventlog"
)

// operation is a path of the API as its description has it.
type operation struct {
	method, path string
	name         string // by which generated clients call it
	summary      string
	params       []param
	body         any    // of a POST
	answer       any    // whose type is described; nil: content says what there is
	content      string // "" is JSON
	errors       []int  // besides those of who asks
	asSpark      bool   // it says no in plain text
}

// param is a parameter in the path or behind it.
type param struct {
	name, kind, text string
	needed           bool
}

var (
	queryID   = param{"id", "string", "id of a query, or of a run of it", true}
	noSuch    = []int{http.StatusNotFound}
	wrongBody = []int{http.StatusBadRequest}
)

// operations are all of the API. A test holds the list to the routes and the answers to
// their types.
var operations = slices.Concat(ownOperations, sparkOperations)

var ownOperations = []operation{
	{method: "GET", path: "/api/v1/fleet", name: "fleet",
		summary: "Every query with its health, worst first", answer: fleet{}},
	{method: "GET", path: "/api/v1/queries", name: "queries", summary: "Every query in full, by start",
		answer: queryList{}},
	{method: "GET", path: "/api/v1/queries/{id}", name: "query", summary: "One query in full",
		params: []param{queryID},
		answer: detail{}, errors: noSuch},
	{method: "GET", path: "/api/v1/queries/{id}/batches", name: "batches",
		summary: "Its last batches, newest first",
		params:  []param{queryID}, answer: batchList{}, errors: noSuch},
	{method: "GET", path: "/api/v1/queries/{id}/logs", name: "logs",
		summary: "What its Python functions printed",
		params:  []param{queryID}, answer: logList{}, errors: []int{http.StatusForbidden, http.StatusNotFound}},
	{method: "GET", path: "/api/v1/queries/{id}/progress", name: "progress",
		summary: "The last progress as a StreamingQueryListener of Spark gets it; null before the first",
		params:  []param{queryID}, answer: json.RawMessage{}, errors: noSuch},
	{method: "GET", path: "/api/v1/runs", name: "runs",
		summary: "Runs of queries, those of earlier servers too, newest start first",
		params:  []param{{"query", "string", "id or name of a query; all", false}}, answer: runList{}},
	{method: "GET", path: "/api/v1/runs/{id}", name: "run",
		summary: "One run in full, as far as it is remembered",
		params:  []param{queryID}, answer: pastRun{},
		errors: []int{http.StatusNotFound, http.StatusServiceUnavailable}},
	{method: "GET", path: "/api/v1/compare", name: "compare", summary: "Two runs by the same numbers",
		params: []param{
			{"a", "string", "id of the first run", false}, {"b", "string", "id of the second", false},
			{"query", "string", "instead of both: the newest two runs of a query", false},
			{"align", "string", "start (the first hours of both) or end (the last)", false},
		}, answer: comparison{},
		errors: []int{http.StatusBadRequest, http.StatusNotFound, http.StatusServiceUnavailable}},
	{method: "GET", path: "/api/v1/week", name: "week",
		summary: "The worst state of each query in each hour of seven days", answer: week{},
		errors: []int{http.StatusServiceUnavailable}},
	{method: "GET", path: "/api/v1/series", name: "series", summary: "A query's past in columns",
		params: []param{
			{"query", "string", "id of a query, or of a run of it", true},
			{"from", "integer", "Unix milliseconds; an hour before to", false},
			{"to", "integer", "Unix milliseconds; now", false},
			{"step", "integer", "seconds; the finest there are", false},
		}, answer: seriesJSON{}, errors: []int{http.StatusBadRequest, http.StatusNotFound}},
	{method: "GET", path: "/api/v1/stream", name: "stream",
		summary: "Server-sent events of the fleet and of queries, one a second for each", params: []param{
			{"view", "string", "fleet, or query with an id; may be repeated", true},
			{"id", "string", "a query to tell of; may be repeated, up to 16 times", false},
		}, content: "text/event-stream", errors: []int{http.StatusBadRequest, http.StatusServiceUnavailable}},
	{method: "GET", path: "/api/v1/alerts", name: "alerts", summary: "Alerts, rules, silences and who is told",
		answer: alertsJSON{}},
	{method: "POST", path: "/api/v1/alerts/silence", name: "silence",
		summary: "Keeps alerts from being told for a while, or ends that", body: silencing{},
		answer: silencedJSON{},
		errors: wrongBody},
	{method: "POST", path: "/api/v1/alerts/reload", name: "reloadAlerts",
		summary: "Reads the file of rules anew",
		answer:  reloadedJSON{}, errors: wrongBody},
	{method: "POST", path: "/api/v1/queries/{id}/stop", name: "stop",
		summary: "Stops a query", params: []param{queryID},
		answer: stoppedJSON{},
		errors: []int{http.StatusNotFound, http.StatusConflict, http.StatusGatewayTimeout}},
	{method: "POST", path: "/api/v1/progress", name: "pushProgress",
		summary: "Takes events of an application's streaming queries, as a listener of Spark gets them",
		body:    eventlog.Push{}, answer: eventlog.Pushed{},
		errors: []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
			http.StatusServiceUnavailable}},
	{method: "POST", path: "/api/v1/queries/{id}/dismiss", name: "dismiss",
		summary: "Takes a query that has ended out of the fleet until it is started again, and ends its alerts",
		params:  []param{queryID}, answer: dismissedJSON{},
		errors: []int{http.StatusNotFound, http.StatusConflict}},
	{method: "GET", path: "/api/v1/csrf", name: "csrf", summary: "The word that a POST shows",
		answer: csrfJSON{}},
	{method: "GET", path: "/api/v1/build", name: "build", summary: "Name and version of the server",
		answer: build{}},
	{method: "GET", path: "/api/v1/resources", name: "resources", summary: "What the server uses",
		answer: resourcesJSON{}},
	{method: "GET", path: "/api/v1/environment", name: "environment", summary: "What the server runs with",
		answer: environmentJSON{}},
	{method: "GET", path: "/api/v1/openapi.json", name: "openapi", summary: "This description",
		answer: json.RawMessage{}},
}

// object is a JSON object on its way.
type object = map[string]any

// openapi is GET /api/v1/openapi.json.
func (s *server) openapi(w http.ResponseWriter, _ *http.Request) { answer(w, s.described()) }

// described is the API of this server in the words of OpenAPI 3.1.
func (s *server) described() object {
	d := &describer{schemas: object{}}
	paths := object{}
	for i := range operations {
		o := &operations[i]
		if !s.has(o.path) {
			continue
		}
		at, ok := paths[o.path].(object)
		if !ok {
			at = object{}
			paths[o.path] = at
		}
		at[strings.ToLower(o.method)] = d.operation(o)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "weir", "version": s.options.Version, "license": object{"name": "Apache-2.0",
				"identifier": "Apache-2.0"},
			"description": "Streaming queries and how they do." +
				" The unit stands last in a name; what is not known is null.",
		},
		"paths": paths,
		"components": object{
			"schemas": d.schemas,
			"securitySchemes": object{
				"token":  object{"type": "http", "scheme": "bearer"},
				"cookie": object{"type": "apiKey", "in": "cookie", "name": sessionCookie},
				"csrf":   object{"type": "apiKey", "in": "header", "name": csrfHeader},
			},
		},
	}
}

// has tells whether this server answers a path; some do not have every page.
func (s *server) has(path string) bool {
	switch {
	case strings.HasPrefix(path, "/api/v1/alerts"):
		return s.options.Alerts != nil
	case path == "/api/v1/queries/{id}/stop":
		return s.options.Stop != nil
	case path == "/api/v1/progress":
		return s.options.Push != nil
	case path == "/api/v1/week":
		return s.options.Past != nil
	case path == "/api/v1/resources":
		return s.options.Resources != nil
	case path == "/api/v1/environment":
		return s.options.Environment != nil
	default:
		return true
	}
}

// describer collects the schemas that operations refer to.
type describer struct{ schemas object }

func (d *describer) operation(o *operation) object {
	out := object{"operationId": o.name, "summary": o.summary}
	var params []object
	for _, p := range o.params {
		in := "query"
		if strings.Contains(o.path, "{"+p.name+"}") {
			in = "path"
		}
		params = append(params, object{"name": p.name, "in": in, "required": p.needed, "description": p.text,
			"schema": object{"type": p.kind}})
	}
	if params != nil {
		out["parameters"] = params
	}
	// Without a token nothing is asked for; the user who started the server is known.
	out["security"] = []object{{}, {"token": []string{}}, {"cookie": []string{}}}
	if o.method == http.MethodPost {
		out["security"] = []object{{"token": []string{}}, {"csrf": []string{}}}
	}
	if o.body != nil {
		schema := object{"schema": d.schema(reflect.TypeOf(o.body), false)}
		out["requestBody"] = object{"required": true, "content": object{
			"application/json": schema, "application/x-www-form-urlencoded": schema,
		}}
	}
	content := object{"text/event-stream": object{"schema": object{"type": "string"}}}
	if o.content == "" {
		content = object{"application/json": object{"schema": d.schema(reflect.TypeOf(o.answer), true)}}
	}
	answers := object{"200": object{"description": o.summary, "content": content}}
	failed := object{"application/json": object{"schema": d.schema(reflect.TypeFor[apiError](), true)}}
	for _, code := range slices.Concat([]int{http.StatusUnauthorized, http.StatusForbidden}, o.errors) {
		answers[strconv.Itoa(code)] = object{"description": http.StatusText(code), "content": failed}
		if o.asSpark {
			answers[strconv.Itoa(code)] = object{"description": http.StatusText(code),
				"content": object{"text/plain": object{"schema": object{"type": "string"}}}}
		}
	}
	// Who may not ask at all is told in plain words.
	for _, code := range []int{http.StatusUnauthorized, http.StatusMisdirectedRequest} {
		answers[strconv.Itoa(code)] = object{"description": http.StatusText(code)}
	}
	out["responses"] = answers
	return out
}

var texts = map[reflect.Type]any{
	reflect.TypeFor[number](): object{"type": []string{"number", "null"}},
	reflect.TypeFor[instant](): object{"type": []string{"integer", "null"},
		"description": "Unix milliseconds"},
	reflect.TypeFor[optional]():        object{"type": []string{"string", "null"}},
	reflect.TypeFor[sparkTime]():       object{"type": "string"},
	reflect.TypeFor[struct{}]():        object{"type": "object"},
	reflect.TypeFor[json.RawMessage](): object{},
}

// schema describes a type; whole says that every field is there, as in answers.
func (d *describer) schema(t reflect.Type, whole bool) any {
	if known, ok := texts[t]; ok {
		return known
	}
	switch t.Kind() {
	case reflect.Pointer:
		return object{"anyOf": []any{d.schema(t.Elem(), whole), object{"type": "null"}}}
	case reflect.Slice:
		return object{"type": "array", "items": d.schema(t.Elem(), whole)}
	case reflect.Array:
		return object{"type": "array", "items": d.schema(t.Elem(), whole), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.schema(t.Elem(), whole)}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Struct:
		return d.named(t, whole)
	default:
		return object{"type": "integer"}
	}
}

// named refers to the schema of a struct, which it makes when it is new.
func (d *describer) named(t reflect.Type, whole bool) any {
	name := strings.TrimSuffix(t.Name(), "JSON")
	name = strings.ToUpper(name[:1]) + name[1:]
	if _, ok := d.schemas[name]; !ok {
		made := object{"type": "object"}
		d.schemas[name] = made // before its fields, which may refer to it
		properties := object{}
		always := d.fields(t, whole, properties)
		made["properties"] = properties
		if whole {
			slices.Sort(always)
			made["required"] = always
		}
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fields adds those of a struct and of what is embedded in it, and gives the names of those
// that are never left out.
func (d *describer) fields(t reflect.Type, whole bool, to object) (always []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, how, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name != "" && name != "-":
			to[name] = d.schema(f.Type, whole)
			if how != "omitempty" {
				always = append(always, name)
			}
		case f.Anonymous && f.Type.Kind() == reflect.Pointer:
			always = append(always, d.fields(f.Type.Elem(), whole, to)...)
		case f.Anonymous:
			always = append(always, d.fields(f.Type, whole, to)...)
		}
	}
	return always
}
