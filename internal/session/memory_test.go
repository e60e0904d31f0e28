package session

import (
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/session/settings"
	"github.com/weir-dev/weir/internal/vfs"
)

// What would take more memory than a query may hold ends with an error that
// names the setting, and nothing of it stays taken.
func TestQueriesStayWithinTheirMemory(t *testing.T) {
	e := openEngine(t, vfs.NewMemory())
	s := e.NewSession("u", "a")
	must(t, s, "SET weir.query.maxMemory = 16m")
	for _, query := range []string{
		"SELECT length(lpad('a', 2147483647, 'b'))",
		"SELECT length(rpad('a', 100000000, 'bc'))",
		"SELECT length(repeat('abc', 100000000))",
		"SELECT length(space(2147483647))",
		"SELECT size(sequence(1, 2000000000))",
		"SELECT size(sequence(TIMESTAMP '0001-01-01', TIMESTAMP '9999-12-31', INTERVAL 1 HOUR))",
		"SELECT size(array_repeat(id, 2000000000)) FROM range(1)",
		"SELECT size(array_repeat(repeat('x', 1000000), 1000))",
		"SELECT length(concat(repeat('x', 9000000), repeat('y', 9000000)))",
		"SELECT length(replace(repeat('a', 100000), 'a', repeat('b', 100000)))",
		"SELECT length(regexp_replace(repeat('a', 100000), 'a', repeat('b', 100000)))",
		"SELECT length(array_join(array_repeat('a', 100000), repeat('b', 100000)))",
		"SELECT length(concat_ws(repeat('b', 100000), array_repeat('a', 100000)))",
		"SELECT length(format_string('%2000000000d', 1))",
		"SELECT sum(length(repeat(CAST(id AS STRING), 100000))) FROM range(1000)",
		"SELECT size(transform(sequence(1, 700000), x -> repeat('a', 1000)))",
		"SELECT size(transform(sequence(1, id + 700000), x -> repeat('a', 1000))) FROM range(1)",
		"SELECT size(transform(sequence(1, 2000), x -> sequence(1, 100000)))",
		"SELECT size(split(repeat('a,', 4000000), ','))",
		"SELECT size(split(repeat('a,', 4000000 + id), ',')) FROM range(1)",
		"SELECT size(aggregate(sequence(1, 40), array(1), (a, x) -> concat(a, a)))",
		"SELECT id, uuid() AS u FROM range(2000000) ORDER BY u",
		"SELECT size(collect_list(id)) FROM range(10000000)",
		"SELECT size(collect_list(repeat('x', 1000))) FROM range(100000)",
		"SELECT count(*) FROM (SELECT id, count(*) FROM range(3000000) GROUP BY id)",
		"SELECT count(DISTINCT id) FROM range(3000000)",
		"SELECT count(*) FROM range(3000000) a JOIN range(3000000) b ON a.id = b.id",
		"SELECT DISTINCT id FROM range(3000000)",
	} {
		err := mistake(t, s, query)
		if err.Condition != "UNABLE_TO_ACQUIRE_MEMORY" || !strings.Contains(err.Error(), "weir.query.maxMemory") ||
			!strings.Contains(err.Error(), "16777216") {
			t.Errorf("%s: got %v", query, err)
		}
		if held := e.budget.Used(); held != 0 {
			t.Errorf("%s: %d bytes stay taken", query, held)
		}
	}
	for _, query := range []string{
		"SELECT sum(length(lpad('a', 1000, 'b'))) FROM range(20000)", "SELECT max(id) FROM range(3000000)",
		"SELECT * FROM (SELECT id FROM range(3000000) ORDER BY id DESC) LIMIT 1",
		"SELECT count(*) FROM range(2000) a CROSS JOIN range(2000) b",
	} {
		must(t, s, query)
	}
	if held := e.budget.Used(); held != 0 {
		t.Errorf("%d bytes stay taken", held)
	}
}

func TestAllQueriesTogetherStayWithinTheServersMemory(t *testing.T) {
	o := testOptions(vfs.NewMemory())
	o.Confs[settings.ServerMemoryKey] = "8m"
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(t.Context()) })
	got := mistake(t, e.NewSession("u", "a"), "SELECT length(repeat('x', 9000000))")
	if got.Condition != "UNABLE_TO_ACQUIRE_MEMORY" || !strings.Contains(got.Error(), settings.ServerMemoryKey) {
		t.Errorf("got %v", got)
	}
}
