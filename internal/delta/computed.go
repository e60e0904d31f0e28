package delta

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-dev/weir/internal/plan"
)

// Computed is how a column gets a value that a row does not bring.
type Computed struct {
	// Generated is the expression of GENERATED ALWAYS AS, "" for none. A value that a
	// row does bring must be equal to it.
	Generated string
	// Default is the expression of DEFAULT, "" for none.
	Default string
	// Identity numbers the rows; nil for other columns.
	Identity *Identity
}

// Identity numbers the rows of a table in steps.
type Identity struct {
	Next, Step int64
	Explicit   bool // a row may bring a number of its own
}

// ComputedOf is how a column of a table gets values.
func ComputedOf(f plan.Field) Computed {
	m := marksOf(f)
	c := Computed{Generated: m.text(generationMark), Default: m.text(plan.DefaultMark)}
	if start, ok := m.number(identityStart); ok {
		c.Identity = &Identity{Next: start, Step: 1}
		if step, ok := m.number(identityStep); ok {
			c.Identity.Step = step
		}
		if high, ok := m.number(identityHigh); ok {
			c.Identity.Next = high + c.Identity.Step
		}
		c.Identity.Explicit = string(m[identityExplicit]) == "true"
	}
	return c
}

// Fills reports whether a column has a value where a row brings none: another one
// than NULL.
func (c Computed) Fills() bool { return c.Generated != "" || c.Default != "" || c.Identity != nil }

// Constraint is a condition that every row of a table fulfils.
type Constraint struct{ Name, Condition string }

// Constraints are those of a table, by name: CHECK constraints, and the conditions of
// columns that old tables have.
func (m *Metadata) Constraints(schema plan.Type) []Constraint {
	var out []Constraint
	for _, key := range sortedKeys(m.Configuration) {
		if name, ok := strings.CutPrefix(key, constraintPrefix); ok {
			out = append(out, Constraint{name, m.Configuration[key]})
		}
	}
	for _, f := range schema.Fields {
		text := marksOf(f).text("delta.invariants")
		if text == "" {
			continue
		}
		var old struct{ Expression struct{ Expression string } }
		if json.Unmarshal([]byte(text), &old) == nil && old.Expression.Expression != "" {
			text = old.Expression.Expression
		}
		out = append(out, Constraint{"EXPRESSION(" + text + ")", text})
	}
	return out
}

// ruled reports whether rows must be looked at before they go into the table.
func (m *Metadata) ruled(schema plan.Type) bool {
	return len(m.Constraints(schema)) > 0 || slices.ContainsFunc(schema.Fields, func(f plan.Field) bool {
		c := ComputedOf(f)
		return c.Generated != "" || c.Identity != nil
	})
}

// checkRuled refuses rows of which nobody said that they are what the table asks for.
func (s *Snapshot) checkRuled(c *Change) error {
	adds := slices.ContainsFunc(c.Adds, func(a Add) bool { return a.DataChange })
	if c.Ruled || !adds || !s.Metadata.ruled(s.Schema) {
		return nil
	}
	return s.refuse("WRITE", []string{"constraints or computed columns in " + c.Operation})
}

// Number is the fit with the last numbers that identity columns gave, by their place
// in the schema; the table keeps them.
func (s *Snapshot) Number(fit *Fit, last map[int]int64) {
	if len(last) == 0 {
		return
	}
	if fit.Metadata == nil {
		m := s.Metadata
		fit.Metadata, fit.Numbered = &m, true
	}
	for at, n := range last {
		m := marksOf(fit.Schema.Fields[at])
		m.set(identityHigh, n)
		fit.Schema.Fields[at] = m.on(fit.Schema.Fields[at])
	}
	fit.Metadata.SchemaString = plan.MarkLengths(fit.Schema).JSON()
}

// IdentityTag marks commits that move an identity column on.
const IdentityTag = "delta.identity.schemaUpdate"

// ownMarks turns what CREATE TABLE says of columns into Delta's words.
func ownMarks(schema plan.Type) plan.Type {
	fields := slices.Clone(schema.Fields)
	for i, f := range fields {
		m := marksOf(f)
		before := len(m)
		for from, to := range map[string]string{
			plan.GeneratedMark: generationMark, plan.IdentityStart: identityStart, plan.IdentityStep: identityStep,
			plan.IdentityExplicit: identityExplicit,
		} {
			if raw, ok := m[from]; ok {
				m[to] = raw
				delete(m, from)
			}
		}
		if before > 0 {
			fields[i] = m.on(f)
		}
	}
	return plan.Struct(fields...)
}

func checkIdentities(schema plan.Type, partitions []string) error {
	for _, f := range schema.Fields {
		if ComputedOf(f).Identity == nil {
			continue
		}
		if f.Type.Kind != plan.KindLong {
			return newError(classUnsupported, "DELTA_IDENTITY_COLUMNS_UNSUPPORTED_DATA_TYPE",
				fmt.Sprintf("An identity column is a BIGINT, and %s is %s.", f.Name, f.Type.SQL()),
				"dataType", strings.Trim(f.Type.JSON(), `"`))
		}
		if slices.ContainsFunc(partitions, func(p string) bool { return strings.EqualFold(p, f.Name) }) {
			return newError(classAnalysis, "DELTA_IDENTITY_COLUMNS_PARTITION_NOT_SUPPORTED",
				fmt.Sprintf("A table is not partitioned by the identity column %s.", f.Name), "colName", f.Name)
		}
	}
	return nil
}

// checkDefaults refuses DEFAULT without the feature, which a table must be asked for
// by name.
func checkDefaults(schema plan.Type, asked []string) error {
	if slices.Contains(asked, "allowColumnDefaults") {
		return nil
	}
	for _, f := range schema.Fields {
		if ComputedOf(f).Default != "" {
			return newError(classAnalysis, "WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED",
				fmt.Sprintf("The column %s has a DEFAULT; set the table property delta.feature.allowColumnDefaults to "+
					"supported for that.", f.Name), "commandType", "CREATE TABLE")
		}
	}
	return nil
}
