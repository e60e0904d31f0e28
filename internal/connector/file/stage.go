package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/function"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// maxOpenFiles is how many files of a batch are written at a time. Beyond it
// the one that was used least recently is ended, and a further file begun when
// its partition comes up again.
const maxOpenFiles = 64

// stage writes the rows of a batch into hidden files beside their final
// names and shows them all by publish.
type stage struct {
	kind   *kind
	job    writeJob
	fs     vfs.FS
	dir    string
	suffix string
	// name makes the beginning of a file's name: part-00000-<uuid>.
	name     func(part int) string
	maxRows  int64
	data     []int // columns that go into the files
	by       []stageColumn
	open     map[stageKey]*stagedFile
	clock    int64
	files    []*stagedFile // all that were begun, in order
	renamed  int
	counters map[stageKey]int
}

// stageColumn is a partition column: its place and its text in directory names.
type stageColumn struct {
	at    int
	field plan.Field
	text  function.Kernel
}

// stageKey is where a row goes: the input's partition and the directory.
type stageKey struct {
	part int
	dir  string // below the stage's, "" without partition columns
}

type stagedFile struct {
	key    stageKey
	values []*chunk.Vector // of the partition columns, one row each
	final  string
	temp   string
	file   vfs.Writer
	buffer *bufio.Writer
	enc    encoder
	rows   int64
	used   int64
}

// stageSpec is what both kinds of write say about their files.
type stageSpec struct {
	loc        vfs.Location
	schema     plan.Type
	options    plan.Options
	partitions []string
}

func newStage(env *connector.Env, k *kind, spec stageSpec) (*stage, error) {
	s := &stage{kind: k, fs: spec.loc.FS, dir: spec.loc.Path,
		open: map[stageKey]*stagedFile{}, counters: map[stageKey]int{}}
	look := newPartLook(env)
	if err := checkDuplicates(spec.schema, look); err != nil {
		return nil, err
	}
	s.job = writeJob{env: env, options: spec.options, schema: plan.Struct()}
	for i, f := range spec.schema.Fields {
		if !slices.ContainsFunc(spec.partitions, func(p string) bool { return look.same(p, f.Name) }) {
			s.data = append(s.data, i)
			s.job.schema.Fields = append(s.job.schema.Fields, f)
		}
	}
	for _, p := range spec.partitions {
		at := look.find(spec.schema, p)
		f := spec.schema.Fields[at]
		f.Name = p // as the user wrote it
		text, err := function.CastKernel(f.Type, plan.String, plan.CastTry, env.Eval)
		if err != nil {
			return nil, err
		}
		s.by = append(s.by, stageColumn{at, f, text})
	}
	if err := k.checkWrite(s.job.schema); err != nil {
		return nil, err
	}
	most := connector.ConfInt(env, "spark.sql.files.maxRecordsPerFile", 0)
	var err error
	if s.maxRows, err = connector.LongOption(spec.options, "maxRecordsPerFile", most); err != nil {
		return nil, err
	}
	s.suffix, err = k.suffix(env, spec.options)
	return s, err
}

// write takes all rows. The first partition of the input gets a file even when
// it has no rows, unless there are partition columns.
func (s *stage) write(ctx context.Context, rows chunk.Rows) error {
	if err := vfs.MkdirDurable(s.fs, s.dir); err != nil {
		return err
	}
	for c, err := range rows {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if c.Rows == 0 {
			continue
		}
		if err := s.chunk(c); err != nil {
			return err
		}
	}
	if len(s.by) == 0 && s.counters[stageKey{}] == 0 {
		if _, err := s.begin(stageKey{}, nil); err != nil {
			return err
		}
	}
	for _, f := range s.open {
		if err := s.end(f); err != nil {
			return err
		}
	}
	s.order()
	return nil
}

func (s *stage) chunk(c *chunk.Chunk) error {
	data := &chunk.Chunk{Cols: make([]*chunk.Vector, len(s.data)), Rows: c.Rows}
	for i, at := range s.data {
		data.Cols[i] = c.Cols[at]
	}
	if len(s.by) == 0 {
		return s.append(stageKey{part: c.Part}, nil, data)
	}
	groups, err := s.split(c)
	if err != nil {
		return err
	}
	for _, g := range groups {
		values := make([]*chunk.Vector, len(s.by))
		for i, col := range s.by {
			values[i] = chunk.Gather(c.Cols[col.at], g.rows[:1])
		}
		if err := s.append(stageKey{c.Part, g.dir}, values, data.Take(g.rows)); err != nil {
			return err
		}
	}
	return nil
}

// dirRows are the rows of a chunk that belong to one directory.
type dirRows struct {
	dir  string
	rows chunk.Sel
}

// split groups the rows of a chunk by directory, in order of appearance.
func (s *stage) split(c *chunk.Chunk) ([]dirRows, error) {
	texts := make([]*chunk.Vector, len(s.by))
	for i, col := range s.by {
		var err error
		if texts[i], err = col.text([]*chunk.Vector{c.Cols[col.at]}, nil, c.Rows); err != nil {
			return nil, err
		}
	}
	var groups []dirRows
	at := map[string]int{}
	for r := range c.Rows {
		var dir strings.Builder
		for i, col := range s.by {
			if i > 0 {
				dir.WriteByte('/')
			}
			value := noValue
			if !texts[i].IsNull(r) {
				value = escapePart(texts[i].Text(r))
			}
			dir.WriteString(escapePart(col.field.Name) + "=" + value)
		}
		g, ok := at[dir.String()]
		if !ok {
			g = len(groups)
			at[dir.String()] = g
			groups = append(groups, dirRows{dir: dir.String()})
		}
		groups[g].rows = append(groups[g].rows, uint16(r))
	}
	return groups, nil
}

// append writes rows into the file of a key, beginning further ones when it is
// full.
func (s *stage) append(key stageKey, values []*chunk.Vector, c *chunk.Chunk) error {
	for c.Rows > 0 {
		f := s.open[key]
		if f == nil {
			var err error
			if f, err = s.begin(key, values); err != nil {
				return err
			}
		}
		n := c.Rows
		if s.maxRows > 0 {
			n = int(min(int64(n), s.maxRows-f.rows))
		}
		s.clock++
		f.used = s.clock
		f.rows += int64(n)
		if err := f.enc.Write(c.Slice(0, n)); err != nil {
			return fmt.Errorf("write %s: %w", f.final, err)
		}
		if s.maxRows > 0 && f.rows >= s.maxRows {
			if err := s.end(f); err != nil {
				return err
			}
		}
		c = c.Slice(n, c.Rows)
	}
	return nil
}

func (s *stage) begin(key stageKey, values []*chunk.Vector) (*stagedFile, error) {
	if len(s.open) >= maxOpenFiles {
		var oldest *stagedFile
		for _, f := range s.open {
			if oldest == nil || f.used < oldest.used {
				oldest = f
			}
		}
		if err := s.end(oldest); err != nil {
			return nil, err
		}
	}
	dash := "-"
	if key.dir != "" {
		dash = "."
	}
	base := fmt.Sprintf("%s%sc%03d%s", s.name(key.part), dash, s.counters[key], s.suffix)
	f := &stagedFile{key: key, values: values, final: path.Join(s.dir, key.dir, base)}
	f.temp = vfs.TempName(f.final)
	if key.dir != "" {
		if err := vfs.MkdirDurable(s.fs, path.Dir(f.final)); err != nil {
			return nil, err
		}
	}
	var err error
	if f.file, err = s.fs.CreateNew(f.temp); err != nil {
		return nil, fmt.Errorf("write %s: %w", f.final, err)
	}
	s.files = append(s.files, f)
	f.buffer = bufio.NewWriterSize(f.file, 64<<10)
	if f.enc, err = s.kind.encode(&s.job, f.buffer); err != nil {
		return nil, fmt.Errorf("write %s: %w", f.final, err)
	}
	s.counters[key]++
	s.open[key] = f
	return f, nil
}

// end makes the bytes of a file durable under its hidden name.
func (s *stage) end(f *stagedFile) error {
	delete(s.open, f.key)
	err := f.enc.Close()
	if err == nil {
		err = f.buffer.Flush()
	}
	if err == nil {
		err = f.file.Sync()
	}
	if closed := f.file.Close(); err == nil {
		err = closed
	}
	f.file = nil
	if err != nil {
		return fmt.Errorf("write %s: %w", f.final, err)
	}
	return nil
}

// order sorts the files by partition of the input, then by the values of the
// partition columns, as Spark logs them.
func (s *stage) order() {
	compare := make([]function.Comparator, len(s.by))
	for i, col := range s.by {
		compare[i] = function.Compare(col.field.Type)
	}
	slices.SortStableFunc(s.files, func(a, b *stagedFile) int {
		if a.key.part != b.key.part {
			return a.key.part - b.key.part
		}
		for i := range s.by {
			if c := nullsFirst(compare[i], a.values[i], b.values[i]); c != 0 {
				return c
			}
		}
		return 0
	})
}

// nullsFirst orders two columns of one row.
func nullsFirst(compare function.Comparator, a, b *chunk.Vector) int {
	switch x, y := a.IsNull(0), b.IsNull(0); {
	case x && y:
		return 0
	case x:
		return -1
	case y:
		return 1
	}
	return compare(a, 0, b, 0)
}

// publish gives every file its final name, durably.
func (s *stage) publish() error {
	dirs := map[string]bool{}
	for _, f := range s.files {
		if err := s.fs.RenameNew(f.temp, f.final); err != nil {
			return fmt.Errorf("write %s: %w", f.final, err)
		}
		s.renamed++
		dirs[path.Dir(f.final)] = true
	}
	for _, dir := range sortedKeys(dirs) {
		if err := s.fs.SyncDir(dir); err != nil {
			return fmt.Errorf("write %s: %w", dir, err)
		}
	}
	return nil
}

// discard removes what was written. After an error of the disk it may fail too;
// hidden files that stay are never read.
func (s *stage) discard() error {
	var failed error
	for i, f := range s.files {
		if f.file != nil {
			failed = errors.Join(failed, f.file.Close())
		}
		name := f.temp
		if i < s.renamed {
			name = f.final
		}
		if err := s.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// freshNames gives every file a uuid of its own, as streams do.
func freshNames(part int) string { return fmt.Sprintf("part-%05d-%s", part, uuid.NewString()) }

// jobNames gives all files of a write one uuid.
func jobNames() func(part int) string {
	id := uuid.NewString()
	return func(part int) string { return fmt.Sprintf("part-%05d-%s", part, id) }
}
