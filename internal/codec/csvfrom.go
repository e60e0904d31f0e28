package codec

import (
	"errors"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// AppendValue appends what from_csv makes of a text to a column of structs, the
// reader's schema: a struct of what could be read, whatever there was, or an error
// with FAILFAST.
func (r *CSVReader) AppendValue(text []byte, into *chunk.Vector) error {
	r.record.Cols, r.record.Rows = into.Kids, into.Len
	r.cells.reset(text)
	r.cells.cells = r.cells.cells[:0]
	if r.opts.Comment != 0 && len(text) > 0 && rune(text[0]) == r.opts.Comment {
		if len(text) > 1 {
			text = nil // the record is malformed, and as in Spark nothing is told of it
		}
	} else if _, err := r.cells.record(); err != nil {
		return err
	}
	if err := r.row(text, &r.record); err != nil {
		return err
	}
	into.AppendRow()
	return nil
}

// SchemaOfCSV is the type of one record, for schema_of_csv.
func SchemaOfCSV(text []byte, o CSVReadOptions) (plan.Type, error) {
	o.Infer, o.Header = true, false
	f, err := NewCSVInference(o)
	if err != nil {
		return plan.Type{}, err
	}
	f.cells.reset(text)
	found, err := f.cells.record()
	if err != nil {
		return plan.Type{}, err
	}
	if !found {
		return plan.Type{}, errors.New("text holds no record of CSV")
	}
	f.add(f.cells.cells)
	schema, _ := f.Schema()
	return schema, nil
}
