package sparkconnect

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// twoBatches is a stream of two batches with text, lists and structs.
func twoBatches(t *testing.T) []byte {
	t.Helper()
	x := arrow.Field{Name: "x", Type: arrow.FixedWidthTypes.Boolean}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "s", Type: arrow.StructOf(x), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	if err := b.UnmarshalJSON([]byte(
		`{"n":1,"l":["a","bc"],"s":{"x":true}}{"n":null,"l":null,"s":null}{"n":3,"l":[],"s":{"x":false}}`)); err != nil {
		t.Fatal(err)
	}
	batch := b.NewRecordBatch()
	defer batch.Release()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	for range 2 {
		if err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestArrowStreamsAreMeasuredBeforeTheyAreRead(t *testing.T) {
	good := twoBatches(t)
	batches, _, err := readArrow(good, nil)
	if err != nil || len(batches) != 2 {
		t.Fatalf("%d batches, %v", len(batches), err)
	}
	refused := 0
	for at := range good {
		for _, value := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			spoiled := bytes.Clone(good)
			spoiled[at] = value
			if _, _, err := readArrow(spoiled, nil); err != nil {
				refused++
				if strings.Contains(err.Error(), "out of memory") {
					t.Errorf("byte %d as %d: %v", at, value, err)
				}
			}
		}
	}
	if refused < len(good)/10 {
		t.Errorf("only %d of %d spoiled streams are refused", refused, 5*len(good))
	}
}

func TestArrowStreamsMayEndEarlyWithoutHarm(t *testing.T) {
	good := twoBatches(t)
	for n := range good {
		// Without the mark of its end a stream is whole at each message.
		_, _, _ = readArrow(good[:n], nil)
	}
	if _, _, err := readArrow([]byte("no Arrow at all"), nil); err == nil {
		t.Error("text is read as Arrow")
	}
}

// TestColumnsWithoutTypeAreRead: a frame of pandas whose column holds only None
// comes as the null type, which has no buffers.
func TestColumnsWithoutTypeAreRead(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.Null, Nullable: true},
		{Name: "b", Type: arrow.ListOf(arrow.Null), Nullable: true},
		{Name: "c", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.Null, Nullable: true}), Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, f := range b.Fields() {
		f.AppendNull()
		f.AppendEmptyValue()
	}
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(b.NewRecordBatch()), w.Close()); err != nil {
		t.Fatal(err)
	}
	batches, found, err := readArrow(stream.Bytes(), nil)
	if err != nil || len(batches) != 1 || found.Simple() != "struct<a:void,b:array<void>,c:struct<x:void>>" {
		t.Errorf("%v %s %v", batches, found.Simple(), err)
	}
}
