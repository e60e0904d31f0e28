package session

import (
	"context"
	"strings"

	"github.com/weir-dev/weir/internal/catalog"
	"github.com/weir-dev/weir/internal/connector/deltatable"
	"github.com/weir-dev/weir/internal/delta"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/session/dml"
)

// onDelta is a call of a DeltaTable that is a command here.
func onDelta(ctx context.Context, s *Session, c *plan.OnDelta) (*Result, error) {
	sc, err := s.begin()
	if err != nil {
		return nil, err
	}
	if c.Table != nil {
		if err := sc.mustBeDelta(c.Table); err != nil {
			return nil, err
		}
	}
	r, err := s.Command(ctx, c.Then)
	return r, ofDeltaTable(c.Then, err)
}

// ofDeltaTable gives an error of a statement the form that it has behind a DeltaTable,
// whose calls do not pass the catalogs of statements.
func ofDeltaTable(c plan.Command, err error) error {
	e, ok := err.(*plan.Error)
	if !ok {
		return err
	}
	switch e.Condition {
	case "UNSUPPORTED_TABLE_CHANGE":
		return plan.IllegalArgument("%s", e.Args["message"])
	case "TABLE_OR_VIEW_ALREADY_EXISTS", "TABLE_OR_VIEW_NOT_FOUND":
		of := plan.Quote(catalog.SparkCatalog) + "."
		e.Args["relationName"] = strings.TrimPrefix(e.Args["relationName"], of)
	case "UNRESOLVED_COLUMN.WITH_SUGGESTION", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION":
		if _, creates := c.(*plan.CreateTable); creates {
			return dml.Mistake("DELTA_INVALID_GENERATED_COLUMN_REFERENCES", "42621",
				"A generated column is computed from another one that there is not: "+e.Msg)
		}
	}
	return e
}

// mustBeDelta refuses what DeltaTable.forPath and forName find no Delta table under.
func (sc *scope) mustBeDelta(name []string) error {
	missing := func(shown []string) error {
		text := plan.QuoteParts(shown)
		return dml.Mistake("DELTA_MISSING_DELTA_TABLE", "42P01",
			"There is no Delta table "+text+".", "tableName", text)
	}
	if len(name) == 2 && name[0] == deltaFormat && (sc.formatOfPath(name) != nil) {
		t, err := deltatable.Table(sc.files, name[1])
		if err != nil {
			return err
		}
		there, err := t.Exists()
		if err == nil && !there {
			err = missing(name[1:])
		}
		return err
	}
	id, err := sc.session.tableID(name)
	if sc.session.findView(name) != nil || err != nil {
		return missing(name)
	}
	if entry := sc.session.engine.find(id); entry == nil || entry.IsView() || entry.Format != deltaFormat {
		return missing(name)
	}
	return nil
}

func isDeltaSchema(*plan.IsDelta) plan.Type { return plan.Struct(yesNo("value")) }

// isDelta is DeltaTable.isDeltaTable: a folder of a table counts as the table, those of
// its log do not.
func isDelta(_ context.Context, s *Session, c *plan.IsDelta) (*Result, error) {
	place, err := s.engine.files.Resolve(c.Path)
	if err != nil {
		return nil, err
	}
	found, err := delta.Table{FS: place.FS, Dir: place.Path}.Encloses()
	if err != nil {
		return nil, err
	}
	return answer(isDeltaSchema(c), []plan.Value{found}), nil
}
