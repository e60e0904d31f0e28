package avro

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
)

const (
	magic    = "Obj\x01"
	syncSize = 16

	// MaxBlock is the most bytes of a block, as it stands in the file and when it
	// is decompressed. Writers make blocks of 64 kB, and a record is never cut.
	MaxBlock = 128 << 20
	// maxHeader bounds the metadata of a file, which hold its schema.
	maxHeader = 16 << 20
	// chunkBytes ends a chunk of few large rows.
	chunkBytes = 32 << 20
)

// File is a container file that is read from its start to its end.
type File struct {
	in     *bufio.Reader
	at     int64 // bytes read
	about  map[string][]byte
	schema *Schema
	codec  decompressor
	sync   [syncSize]byte

	packed bytes.Buffer
	plain  []byte
}

// OpenFile reads the header of a file.
func OpenFile(r io.Reader) (*File, error) {
	f := &File{in: bufio.NewReaderSize(r, 64<<10), about: map[string][]byte{}}
	var start [4]byte
	if err := f.full(start[:]); err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, err
	}
	if string(start[:]) != magic {
		return nil, errors.New("it is no Avro file: it does not begin with Obj and 1")
	}
	err := f.metadata()
	if err == nil {
		err = f.full(f.sync[:])
	}
	if err != nil {
		return nil, fmt.Errorf("the header of the Avro file, at byte %d: %w", f.at, cut(err))
	}
	if f.codec, err = decompressorOf(string(f.about["avro.codec"])); err != nil {
		return nil, err
	}
	f.schema, err = parse(string(f.about["avro.schema"]), nil)
	return f, err
}

// cut is the error of a file that ends too early.
func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New("the file ends in the middle")
	}
	return err
}

func (f *File) full(b []byte) error {
	n, err := io.ReadFull(f.in, b)
	f.at += int64(n)
	return err
}

// ReadByte counts for binary.ReadVarint.
func (f *File) ReadByte() (byte, error) {
	b, err := f.in.ReadByte()
	if err == nil {
		f.at++
	}
	return b, err
}

func (f *File) metadata() error {
	left := int64(maxHeader)
	text := func() ([]byte, error) {
		n, err := binary.ReadVarint(f)
		if err != nil {
			return nil, err
		}
		if left -= n; n < 0 || left < 0 {
			return nil, fmt.Errorf("a length of %d, where a header may have %d bytes", n, maxHeader)
		}
		b := make([]byte, n)
		return b, f.full(b)
	}
	for {
		n, err := binary.ReadVarint(f)
		if err != nil || n == 0 {
			return err
		}
		if n < 0 {
			n = -n
			if _, err := binary.ReadVarint(f); err != nil {
				return err
			}
		}
		for ; n > 0; n-- {
			key, err := text()
			if err != nil {
				return err
			}
			if f.about[string(key)], err = text(); err != nil {
				return err
			}
			if left -= 32; left < 0 { // an entry has its cost, even an empty one
				return fmt.Errorf("more than %d bytes", maxHeader)
			}
		}
	}
}

// Schema is the one that the file was written with.
func (f *File) Schema() *Schema { return f.schema }

// Rows yields the columns of want. Rows before the place where the file is
// broken are yielded.
func (f *File) Rows(ctx context.Context, want plan.Type, o ReadOptions) chunk.Rows {
	seen := f.schema
	if o.Schema != nil {
		seen = o.Schema
	}
	if seen.root.kind != kindRecord || f.schema.root.kind != kindRecord {
		return chunk.Fail(incompatible("The Avro file is not of records with columns but %s.",
			f.schema.root.shown()))
	}
	if err := o.fit(seen.root, want, nil); err != nil {
		return chunk.Fail(err)
	}
	dates, err := o.calendar(f.about)
	if err != nil {
		return chunk.Fail(err)
	}
	k := &compiler{o: &o, dates: dates}
	fields, err := k.row(f.schema.root, seen.root, want)
	if err != nil {
		return chunk.Fail(err)
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		s := &scan{f: f, fields: &fields, want: want, out: chunk.NewChunk(want, 0)}
		for {
			more, err := s.next(ctx, yield)
			if err == nil && more {
				continue
			}
			if s.out.Rows > 0 && !s.stopped && !yield(s.out, nil) {
				return
			}
			if err != nil && !s.stopped {
				yield(nil, err)
			}
			return
		}
	}
}

// scan is one run over the blocks of a file.
type scan struct {
	f       *File
	fields  *row
	want    plan.Type
	out     *chunk.Chunk
	cost    int64 // bytes that were read into out
	stopped bool
}

// next reads a block; chunks that are full are yielded.
func (s *scan) next(ctx context.Context, yield func(*chunk.Chunk, error) bool) (more bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	begin := s.f.at
	rows, err := s.f.block()
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("the block at byte %d of the Avro file: %w", begin, cut(err))
	}
	c := &cursor{b: s.f.plain}
	for rows > 0 {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		n := s.read(c, rows)
		if c.err != nil {
			return false, fmt.Errorf("a record in the block at byte %d of the Avro file: %w", begin, c.err)
		}
		rows -= int64(n)
		if s.out.Rows == chunk.MaxRows || rows > 0 || s.cost > chunkBytes {
			if !yield(s.out, nil) {
				s.stopped = true
				return false, nil
			}
			s.out, s.cost = s.fresh(rows), 0
		}
	}
	if c.at < len(c.b) {
		return false, fmt.Errorf("the block at byte %d of the Avro file has %d bytes behind its last record",
			begin, len(c.b)-c.at)
	}
	return true, nil
}

// fresh is an empty chunk with room for rows like those of the one before.
func (s *scan) fresh(rows int64) *chunk.Chunk {
	out := chunk.NewChunk(s.want, int(min(max(rows, int64(s.out.Rows)), chunk.MaxRows)))
	for i, v := range s.out.Cols {
		if chunk.IsBytes(v.Type) {
			out.Cols[i].Data = make([]byte, 0, len(v.Data)+len(v.Data)/8)
		}
	}
	return out
}

// read appends rows to the chunk, as many as it takes. When a record is broken
// those before it stay.
func (s *scan) read(c *cursor, rows int64) int {
	start, before := *c, s.out.Rows
	n := s.append(c, int(min(rows, int64(chunk.MaxRows-before))))
	if c.err == nil {
		return n
	}
	// The broken record left columns of unequal length. Read again up to it.
	whole := chunk.NewChunk(s.want, before+n)
	for i := range before {
		whole.AppendFrom(s.out.Slice(0, before), i)
	}
	s.out = whole
	again := start
	s.append(&again, n)
	return n
}

// append reads n rows, or those before a broken one, or those that make a chunk
// large enough; it returns how many.
func (s *scan) append(c *cursor, n int) int {
	for i := range n {
		before := int64(c.at) + 4*c.empty
		s.fields.read(c, s.out.Cols)
		if c.err != nil {
			return i
		}
		s.out.Rows++
		if s.cost += int64(c.at) + 4*c.empty - before; s.cost > chunkBytes {
			return i + 1
		}
	}
	return n
}

// block reads and decompresses the next block and checks what stands behind it.
// io.EOF says that the file is at its end.
func (f *File) block() (rows int64, err error) {
	if rows, err = binary.ReadVarint(f); err != nil {
		return 0, err
	}
	size, err := binary.ReadVarint(f)
	switch {
	case err != nil:
		return 0, cut(err)
	case rows < 0 || size < 0:
		return 0, fmt.Errorf("%d records in %d bytes", rows, size)
	case size > MaxBlock:
		return 0, fmt.Errorf("it has %d bytes, where at most %d are read", size, MaxBlock)
	}
	f.packed.Reset()
	n, err := io.CopyN(&f.packed, f.in, size) // grows with what is there, not with what is promised
	f.at += n
	if err != nil {
		return 0, cut(err)
	}
	var sync [syncSize]byte
	if err := f.full(sync[:]); err != nil {
		return 0, cut(err)
	}
	if sync != f.sync {
		return 0, errors.New("its sync marker is not that of the file")
	}
	if f.plain, err = f.codec(f.plain[:0], f.packed.Bytes()); err != nil {
		return 0, err
	}
	least := int64(f.schema.root.min)
	if least > 0 && rows > int64(len(f.plain)) {
		return 0, fmt.Errorf("%d records cannot be in %d bytes", rows, len(f.plain))
	}
	return rows, nil
}
