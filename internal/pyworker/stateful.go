package pyworker

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

// Stateful is what a call of a function that keeps a state for each group needs
// beside. The state stays here: groups are handed over with it, many at a time,
// and what the function changed comes back before the next groups are asked for.
type Stateful struct {
	// Told is JSON for the worker.
	Told any
	// Changes are the tables that changes come back as.
	Changes []plan.Type
	// Changed takes rows of such a table.
	Changed func(table int, rows *chunk.Chunk) error
	// Asked answers what the worker asks while it works on groups; nil when it
	// does not.
	Asked func(question []byte) (Turn, error)
}

// Turn is what is handed to the worker at once: groups, or an answer.
type Turn struct {
	Note  any // JSON
	Parts []Part
}

// Part is rows of a Turn. The worker knows what they are by name and number.
type Part struct {
	Name   string
	Number int
	Of     plan.Type
	Rows   *chunk.Chunk
}

// noted is the end of a Turn on the wire.
type noted struct {
	Parts []notedPart `json:"parts"`
	Note  any         `json:"note"`
}

type notedPart struct {
	Name   string `json:"name"`
	Number int    `json:"number"`
}

// Await takes results and changes until the worker wants groups; false when
// nothing more will come of the call. What was changed in the turn before is
// known then.
func (x *Exchange) Await(take func(*chunk.Chunk) bool) (wanted bool, err error) {
	if x.ended {
		return false, nil
	}
	return x.advance(take)
}

// Hand hands groups over that the worker wants.
func (x *Exchange) Hand(t Turn) error {
	x.wanted = false
	if err := x.hand(t); err != nil {
		return x.lost(err)
	}
	return nil
}

func (x *Exchange) hand(t Turn) error {
	end := noted{Note: t.Note, Parts: []notedPart{}}
	for _, p := range t.Parts {
		schema := chunk.ArrowSchema(p.Of, chunk.ArrowOptions{Zone: x.call.Settings.Zone})
		if err := x.worker.sendRows(p.Rows, schema); err != nil {
			return err
		}
		end.Parts = append(end.Parts, notedPart{p.Name, p.Number})
	}
	return x.worker.sendJSON(frameGroup, end)
}

// changed passes changes on: the number of their table and an Arrow stream.
func (x *Exchange) changed(payload []byte) error {
	s := x.call.State
	if s == nil || len(payload) == 0 || int(payload[0]) >= len(s.Changes) {
		return fmt.Errorf("changes of a state that is not there")
	}
	table := int(payload[0])
	return readRows(payload[1:], s.Changes[table], func(c *chunk.Chunk) (bool, error) {
		return true, s.Changed(table, c)
	})
}

// asked answers a question.
func (x *Exchange) asked(payload []byte) error {
	if x.call.State == nil || x.call.State.Asked == nil {
		return fmt.Errorf("a question to a call without state")
	}
	answer, err := x.call.State.Asked(payload)
	if err != nil {
		return err
	}
	return x.hand(answer)
}

// readRows reads an Arrow stream, at most chunk.MaxRows at a time, until visit
// says that it has enough.
func readRows(stream []byte, of plan.Type, visit func(*chunk.Chunk) (bool, error)) error {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
		c, err := chunk.FromArrow(r.RecordBatch(), of)
		if err != nil {
			return err
		}
		for from := 0; from < c.Rows; from += chunk.MaxRows {
			more, err := visit(c.Slice(from, min(c.Rows, from+chunk.MaxRows)))
			if err != nil || !more {
				return err
			}
		}
	}
	return r.Err()
}

// ReadRows is the rows of an Arrow stream of one batch.
func ReadRows(stream []byte, of plan.Type) (*chunk.Chunk, error) {
	out := chunk.Empty(of)
	err := readRows(stream, of, func(c *chunk.Chunk) (bool, error) {
		out = c
		return false, nil
	})
	return out, err
}

// describedState is a Stateful on the wire.
type describedState struct {
	Told    any      `json:"told"`
	Changes []string `json:"changes"`
}

func (c *Call) describeState() (json.RawMessage, error) {
	if c.State == nil {
		return nil, nil
	}
	d := describedState{Told: c.State.Told}
	for _, t := range c.State.Changes {
		text, err := schemaText(chunk.ArrowSchema(t, chunk.ArrowOptions{Zone: c.Settings.Zone}))
		if err != nil {
			return nil, err
		}
		d.Changes = append(d.Changes, text)
	}
	return json.Marshal(d)
}

// schemaText is an Arrow schema as an empty stream in base64.
func schemaText(s *arrow.Schema) (string, error) {
	var empty bytes.Buffer
	if err := ipc.NewWriter(&empty, ipc.WithSchema(s)).Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(empty.Bytes()), nil
}
