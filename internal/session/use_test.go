package session

import (
	"context"
	"slices"
	"strings"
	"testing"
)

func TestSettingsOfTheServerAreTold(t *testing.T) {
	e, err := Open(Options{Dir: t.TempDir(), Memory: 1 << 30, Confs: map[string]string{
		"spark.sql.shuffle.partitions": "7", "spark.sql.shufle": "1", "my.key": "x", "weir.query.maxMemory": "16m",
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	got := map[string]Setting{}
	settings := e.Settings()
	for _, s := range settings {
		got[s.Key] = s
	}
	for key, want := range map[string]Setting{
		"spark.sql.shuffle.partitions": {Value: "7"}, "spark.sql.shufle": {Value: "1", Unknown: true},
		"my.key": {Value: "x"}, "weir.query.maxMemory": {Value: "16m"},
		"weir.server.maxMemory":  {Value: "536870912"},
		"weir.session.onRelease": {Value: "stop"}, "spark.app.name": {Value: "weir"},
	} {
		want.Key = key
		if got[key] != want {
			t.Errorf("%+v, want %+v", got[key], want)
		}
	}
	if !slices.IsSortedFunc(settings, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) }) {
		t.Errorf("not in the order of keys: %v", settings)
	}
	if held, limit := e.Use(); held != 0 || limit != 1<<29 || len(e.QueryUses()) != 0 {
		t.Errorf("%d of %d bytes held, queries %v", held, limit, e.QueryUses())
	}
}
