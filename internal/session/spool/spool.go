package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// maxSpoolMemory is what a batch may take in memory; a bigger one is kept on
// disk.
const maxSpoolMemory = 64 << 20

// Spool is the rows of a batch, to be read as often as a foreachBatch likes:
// in memory, or in a file of Arrow streams of one chunk each, before each the
// chunk's partition and the length of the stream.
type Spool struct {
	Schema plan.Type
	budget *chunk.Budget
	chunks []*chunk.Chunk
	fs     vfs.FS
	file   string // "" while the rows are in memory
}

// A Place is where spools that memory does not hold go.
type Place struct {
	FS vfs.FS
	// Name is a fresh name for a file.
	Name func() string
}

// Keep reads rows to their end and keeps them, in memory as far as the budget
// allows that.
func Keep(place Place, schema plan.Type, rows chunk.Rows, budget *chunk.Budget) (*Spool, error) {
	s := &Spool{Schema: schema, fs: place.FS, budget: budget.Part()}
	var file *spoolFile
	for c, err := range rows {
		if err == nil && c.Rows > 0 {
			s.chunks = append(s.chunks, c)
			if file == nil && !s.hold(c) {
				file, err = s.spill(place.Name())
			}
			if err == nil && file != nil {
				err = file.add(s.chunks)
				s.chunks = nil
			}
		}
		if err != nil {
			return nil, errors.Join(err, file.close(), s.Remove())
		}
	}
	if err := file.close(); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}

// hold reports whether a chunk may stay in memory with those before it.
func (s *Spool) hold(c *chunk.Chunk) bool {
	n := int64(0)
	for _, v := range c.Cols {
		n += chunk.SizeOf(v)
	}
	return s.budget.Used()+n <= maxSpoolMemory && s.budget.Take("batch of a foreachBatch", n) == nil
}

// spill makes the file of a spool.
func (s *Spool) spill(name string) (*spoolFile, error) {
	w, err := s.fs.CreateNew(name)
	if err != nil {
		return nil, fmt.Errorf("keep a batch on disk: %w", err)
	}
	s.file = name
	s.budget.Give(s.budget.Used())
	return &spoolFile{w: w, schema: chunk.ArrowSchema(s.Schema, chunk.ArrowOptions{Zone: "UTC"})}, nil
}

// Remove gives back what the rows take.
func (s *Spool) Remove() error {
	s.budget.Close()
	if s.file == "" {
		return nil
	}
	return s.fs.Remove(s.file)
}

// FileName is where the rows are on disk, "" while they are in memory.
func (s *Spool) FileName() string { return s.file }

// spoolFile is a spool's file while it is written.
type spoolFile struct {
	w      vfs.Writer
	schema *arrow.Schema
}

// spoolHead is the length of what stands before each stream.
const spoolHead = 12

func (f *spoolFile) add(chunks []*chunk.Chunk) error {
	for _, c := range chunks {
		b := bytes.NewBuffer(make([]byte, spoolHead))
		w := ipc.NewWriter(b, ipc.WithSchema(f.schema))
		if err := w.Write(c.ToArrow(f.schema)); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		binary.BigEndian.PutUint32(b.Bytes(), uint32(c.Part))
		binary.BigEndian.PutUint64(b.Bytes()[4:], uint64(b.Len()-spoolHead))
		if _, err := f.w.Write(b.Bytes()); err != nil {
			return fmt.Errorf("keep a batch on disk: %w", err)
		}
	}
	return nil
}

// close ends the writing, if there was any. The file does not outlive the
// server, so nothing is synced.
func (f *spoolFile) close() error {
	if f == nil {
		return nil
	}
	return f.w.Close()
}

// Rows yields what was kept.
func (s *Spool) Rows() chunk.Rows {
	if s.file == "" {
		return chunk.One(s.chunks...)
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		r, err := s.fs.Open(s.file)
		if err != nil {
			yield(nil, fmt.Errorf("read a batch from disk: %w", err))
			return
		}
		defer r.Close()
		for {
			c, err := s.next(r)
			if err == io.EOF {
				return
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// next reads the next chunk, io.EOF at the end.
func (s *Spool) next(r io.Reader) (*chunk.Chunk, error) {
	var head [spoolHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	stream := make([]byte, binary.BigEndian.Uint64(head[4:]))
	if _, err := io.ReadFull(r, stream); err != nil {
		return nil, fmt.Errorf("read a batch from disk: %w", err)
	}
	in, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	defer in.Release()
	if !in.Next() {
		return nil, errors.Join(io.ErrUnexpectedEOF, in.Err())
	}
	c, err := chunk.FromArrow(in.RecordBatch(), s.Schema)
	if err == nil {
		c.Part = int(binary.BigEndian.Uint32(head[:]))
	}
	return c, err
}
