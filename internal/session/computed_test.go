package session

import (
	"errors"
	"testing"

	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
)

// What Delta Lake does is recorded in test/delta (features.*); here is what goes on
// between statements.
func TestComputedColumnsAndConstraintsHold(t *testing.T) {
	e := openEngine(t, vfs.NewMemory())
	s := e.NewSession("u", "s")
	must(t, s, "USE main.default")
	must(t, s, `CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY, a INT,
		b STRING GENERATED ALWAYS AS (concat('b', cast(a AS STRING))), c INT DEFAULT 1 + 1)
		TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported', 'delta.constraints.few' = 'a < 10',
		'delta.columnMapping.mode' = 'name')`)
	must(t, s, "INSERT INTO t (a) VALUES (1), (2)")
	must(t, s, "INSERT INTO t (a, c) VALUES (3, DEFAULT), (4, NULL)")
	must(t, s, "INSERT OVERWRITE t (a, b) SELECT a, b FROM t WHERE a > 2")
	testkit.Diff(t, "rows", must(t, s, "SELECT * FROM t ORDER BY id"), []string{`[5,3,"b3",2]`, `[6,4,"b4",2]`})
	must(t, s, "DELETE FROM t WHERE a = 3")
	if got := must(t, s, "SELECT max(id), count(*) FROM t"); got[0] != "[6,1]" {
		t.Errorf("got %v", got)
	}
	for query, condition := range map[string]string{
		"INSERT INTO t (a) VALUES (10)":            "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
		"INSERT INTO t (a, b) VALUES (1, 'other')": "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
		"INSERT INTO t (id, a) VALUES (1, 1)":      "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED",
	} {
		_, _, err := run(t, s, query)
		if e := new(plan.Error); !errors.As(err, &e) || e.Condition != condition {
			t.Errorf("%s: %v, want %s", query, err, condition)
		}
	}
}
