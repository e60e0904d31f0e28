package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// maxSpoolMemory is what a batch may take in memory; a bigger one is kept on
// disk.
const maxSpoolMemory = 64 << 20

// spool is the rows of a batch, to be read as often as a foreachBatch likes:
// in memory, or in a file of Arrow streams of one chunk each, before each the
// chunk's partition and the length of the stream.
type spool struct {
	schema plan.Type
	budget *chunk.Budget
	chunks []*chunk.Chunk
	fs     vfs.FS
	file   string // "" while the rows are in memory
}

// spoolTable is the format under which a spool is read.
const spoolTable = "foreachBatch frame"

const (
	spoolOption = "frame"
	batchOption = "batch"
)

// spooled reads rows to their end and keeps them, in memory as far as the budget
// allows that.
func (e *Engine) spooled(schema plan.Type, rows chunk.Rows, budget *chunk.Budget) (*spool, error) {
	s := &spool{schema: schema, fs: e.fs, budget: budget.Part()}
	var file *spoolFile
	for c, err := range rows {
		if err == nil && c.Rows > 0 {
			s.chunks = append(s.chunks, c)
			if file == nil && !s.hold(c) {
				file, err = s.spill(e.tempDir("batch"))
			}
			if err == nil && file != nil {
				err = file.add(s.chunks)
				s.chunks = nil
			}
		}
		if err != nil {
			return nil, errors.Join(err, file.close(), s.remove())
		}
	}
	if err := file.close(); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// hold reports whether a chunk may stay in memory with those before it.
func (s *spool) hold(c *chunk.Chunk) bool {
	n := int64(0)
	for _, v := range c.Cols {
		n += chunk.SizeOf(v)
	}
	return s.budget.Used()+n <= maxSpoolMemory && s.budget.Take("batch of a foreachBatch", n) == nil
}

// spill makes the file of a spool.
func (s *spool) spill(name string) (*spoolFile, error) {
	w, err := s.fs.CreateNew(name)
	if err != nil {
		return nil, fmt.Errorf("keep a batch on disk: %w", err)
	}
	s.file = name
	s.budget.Give(s.budget.Used())
	return &spoolFile{w: w, schema: chunk.ArrowSchema(s.schema, chunk.ArrowOptions{Zone: "UTC"})}, nil
}

// remove gives back what the rows take.
func (s *spool) remove() error {
	s.budget.Close()
	if s.file == "" {
		return nil
	}
	return s.fs.Remove(s.file)
}

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

// rows yields what was kept.
func (s *spool) rows() chunk.Rows {
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
func (s *spool) next(r io.Reader) (*chunk.Chunk, error) {
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
	c, err := chunk.FromArrow(in.RecordBatch(), s.schema)
	if err == nil {
		c.Part = int(binary.BigEndian.Uint32(head[:]))
	}
	return c, err
}

// putSpool makes a batch a frame that clients of the session find by the id.
func (s *Session) putSpool(rows *spool, batch int64) (frame string) {
	frame = newID()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spools[frame] = rows
	s.cached[frame] = &plan.Scan{Relation: plan.Relation{
		Format: spoolTable, Schema: rows.schema,
		Options: plan.Options{spoolOption: frame, batchOption: strconv.FormatInt(batch, 10)},
	}}
	return frame
}

// dropSpool forgets a batch. Who still reads it reads on.
func (s *Session) dropSpool(frame string) {
	s.mu.Lock()
	rows := s.spools[frame]
	delete(s.spools, frame)
	delete(s.cached, frame)
	s.mu.Unlock()
	if err := rows.remove(); err != nil {
		s.engine.log.Warn("remove a batch of a foreachBatch", "file", rows.file, "err", err)
	}
}

// scanSpool yields the rows of the batch that a foreachBatch is at.
func (s *Session) scanSpool(_ context.Context, _ *connector.Env, scan *plan.Scan) chunk.Rows {
	s.mu.Lock()
	rows := s.spools[scan.Relation.Options[spoolOption]]
	s.mu.Unlock()
	if rows == nil {
		return chunk.Fail(plan.IllegalArgument("the rows of batch %s are gone: its foreachBatch has ended, "+
			"and what is to outlive it has to be written somewhere", scan.Relation.Options[batchOption]))
	}
	return func(yield func(*chunk.Chunk, error) bool) {
		for c, err := range rows.rows() {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(columnsOf(c, scan), nil) {
				return
			}
		}
	}
}
