package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/weir-dev/weir/internal/plan"
)

// modelClause is a clause of MERGE as text and as a function: ok says that the
// clause takes the row, gone that it deletes it.
type modelClause struct {
	text string
	cond func(t, s modelRow) bool
	does func(t, s modelRow) (row modelRow, gone bool)
	bare bool // it deletes without a condition
}

// genClauses makes the clauses of a kind: the last may stand without a condition.
func genClauses(when, over string, one func(*rapid.T) modelClause) *rapid.Generator[[]modelClause] {
	return rapid.Custom(func(t *rapid.T) []modelClause {
		n := rapid.IntRange(0, 2).Draw(t, "clauses")
		var out []modelClause
		for i := range n {
			c := one(t)
			c.cond = func(_, _ modelRow) bool { return true }
			where := ""
			if i < n-1 || rapid.Bool().Draw(t, "conditional") {
				p := genPredicate(over, 1).Draw(t, "and")
				where = " AND " + p.text
				c.bare, c.cond = false, p.over(over)
			}
			c.text = " WHEN " + when + where + " THEN " + c.text
			out = append(out, c)
		}
		return out
	})
}

// over is the condition as one of a clause, of the row that it speaks of.
func (p modelPredicate) over(name string) func(t, s modelRow) bool {
	if name == "s." {
		return func(_, s modelRow) bool { return p.is(s) }
	}
	return func(t, _ modelRow) bool { return p.is(t) }
}

func genMatched(t *rapid.T) modelClause {
	switch rapid.IntRange(0, 2).Draw(t, "matched") {
	case 0:
		return modelClause{text: "DELETE", bare: true, does: func(t, _ modelRow) (modelRow, bool) {
			return t, true
		}}
	case 1:
		return modelClause{text: "UPDATE SET *", does: func(_, s modelRow) (modelRow, bool) { return s, false }}
	}
	return modelClause{text: "UPDATE SET v = s.v, k = t.k", does: func(t, s modelRow) (modelRow, bool) {
		t.v = s.v
		return t, false
	}}
}

func genNotMatched(t *rapid.T) modelClause {
	if rapid.Bool().Draw(t, "star") {
		return modelClause{text: "INSERT *", does: func(_, s modelRow) (modelRow, bool) { return s, false }}
	}
	return modelClause{text: "INSERT (v, id) VALUES (s.id, s.v)", does: func(_, s modelRow) (modelRow, bool) {
		return modelRow{id: s.v, v: s.id}, false
	}}
}

func genAlone(t *rapid.T) modelClause {
	if rapid.Bool().Draw(t, "delete") {
		return modelClause{text: "DELETE", does: func(t, _ modelRow) (modelRow, bool) { return t, true }}
	}
	return modelClause{text: "UPDATE SET v = t.id", does: func(t, _ modelRow) (modelRow, bool) {
		t.v = t.id
		return t, false
	}}
}

// modelMerge is a MERGE of the model.
type modelMerge struct {
	source                        []modelRow
	on                            modelPredicate // beside the keys, of the table
	keys                          []string       // that are compared, id or k
	op                            string         // = or <=>
	matched, notMatched, bySource []modelClause
}

func (m *modelMerge) text() string {
	rows := make([]string, len(m.source))
	for i, r := range m.source {
		rows[i] = r.String()
	}
	text := fmt.Sprintf("MERGE INTO t USING (SELECT CAST(id AS BIGINT) id, CAST(k AS STRING) k, "+
		"CAST(v AS BIGINT) v FROM VALUES %s AS s(id, k, v)) s ON %s AND %s",
		strings.Join(rows, ", "), m.keyText(), m.on.text)
	for _, c := range slices.Concat(m.matched, m.notMatched, m.bySource) {
		text += c.text
	}
	return text
}

func (m *modelMerge) meets(t, s modelRow) bool {
	for _, key := range m.keys {
		eq, nulls := compareWith(t.id, s.id, "="), t.id == nil && s.id == nil
		if key == "k" {
			eq, nulls = compareWith(t.k, s.k, "="), t.k == nil && s.k == nil
		}
		if (eq == nil || !*eq) && (m.op == "=" || !nulls) {
			return false
		}
	}
	return m.on.is(t)
}

func (m *modelMerge) keyText() string {
	parts := make([]string, len(m.keys))
	for i, key := range m.keys {
		parts[i] = fmt.Sprintf("t.%s %s s.%s", key, m.op, key)
	}
	return strings.Join(parts, " AND ")
}

// run is the rows behind the MERGE and its answer; ok is false when several rows of
// the source would change one of the table.
func (m *modelMerge) run(rows []modelRow) (after []modelRow, answer string, ok bool) {
	var updates, deletes, inserts int
	met := make([]bool, len(m.source))
	for _, t := range rows {
		var mine []modelRow
		for i, s := range m.source {
			if m.meets(t, s) {
				met[i] = true
				mine = append(mine, s)
			}
		}
		onlyDelete := len(m.matched) == 1 && m.matched[0].bare
		if len(mine) > 1 && len(m.matched)+len(m.bySource) > 0 && !onlyDelete {
			return nil, "", false
		}
		clauses, s := m.bySource, modelRow{}
		if len(mine) > 0 {
			clauses, s = m.matched, mine[0]
		}
		row, gone := t, false
		for _, c := range clauses {
			if c.cond(t, s) {
				if row, gone = c.does(t, s); gone {
					deletes++
				} else {
					updates++
				}
				break
			}
		}
		if !gone {
			after = append(after, row)
		}
	}
	for i, s := range m.source {
		for _, c := range m.notMatched {
			if !met[i] && c.cond(modelRow{}, s) {
				row, _ := c.does(modelRow{}, s)
				after = append(after, row)
				inserts++
				break
			}
		}
	}
	return after, fmt.Sprintf("[%d,%d,%d,%d]", updates+deletes+inserts, updates, deletes, inserts), true
}

func (m *modelTable) merge(t *rapid.T) {
	g := &modelMerge{
		source:     rapid.SliceOfN(genRow(), 1, 5).Draw(t, "source"),
		on:         genPredicate("t.", 0).Draw(t, "on"),
		keys:       rapid.SampledFrom([][]string{{"id"}, {"k"}, {"k", "id"}}).Draw(t, "keys"),
		op:         rapid.SampledFrom([]string{"=", "<=>"}).Draw(t, "op"),
		matched:    genClauses("MATCHED", "t.", genMatched).Draw(t, "matched"),
		notMatched: genClauses("NOT MATCHED", "s.", genNotMatched).Draw(t, "not matched"),
		bySource:   genClauses("NOT MATCHED BY SOURCE", "t.", genAlone).Draw(t, "by source"),
	}
	if len(g.matched)+len(g.notMatched)+len(g.bySource) == 0 {
		return
	}
	rows, answer, ok := g.run(m.rows)
	if ok {
		m.step(t, g.text(), answer, rows)
		return
	}
	_, err := ask(m.s, g.text())
	var e *plan.Error
	if !errors.As(err, &e) || e.Condition != "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE" {
		t.Fatalf("%s: got %v, want a refusal of several matches", g.text(), err)
	}
	m.step(t, "DELETE FROM t WHERE false", "[0]", m.rows)
}
