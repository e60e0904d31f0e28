package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/state"
	"github.com/weir-dev/weir/internal/vfs"
)

// ResetRequest is where a query shall go on.
type ResetRequest struct {
	// Batch is the one behind which it goes on, as it was when that was done.
	Batch int64
	// Offsets are places of sources that shall begin elsewhere, by the source's name
	// or number; only for queries without state.
	Offsets map[string]connector.Offset
}

// A Reset takes a checkpoint back. No batch id is ever used twice: sinks and functions
// that know batches by their id would pass over the new one. So two batches that
// read nothing are put behind the newest: they stand where the query shall go on, and
// what lies between is moved aside.
type Reset struct {
	Checkpoint *Checkpoint
	Batch      int64 // the query is as it was behind it
	Next       int64 // the first batch that runs
	// Sources go back from To to From.
	Sources   []SourcePosition
	Watermark time.Time // that the query goes on with; zero for none
	Moved     []string  // files, from the checkpoint on, that go into Backup
	Backup    string    // directory of the checkpoint
	// Operators are those with state, which is taken from after Batch.
	Operators []int

	place  connector.Place
	entry  offsetEntry
	commit commitEntry
}

// resetName is the directory of a checkpoint with what resets moved aside: one
// directory for each, by the newest batch that there was.
const (
	resetName    = "reset"
	manifestName = "reset.json"
)

// resetManifest is what a reset writes down before it begins.
type resetManifest struct {
	Query string   `json:"queryId"`
	Batch int64    `json:"batch"`
	Next  int64    `json:"next"`
	Moved []string `json:"moved"`
	State []int    `json:"state"`
}

// PlanReset finds out what a reset would do, and refuses what cannot be done. It
// changes nothing.
func PlanReset(place connector.Place, want ResetRequest) (*Reset, error) {
	if m, err := interruptedReset(place); err != nil || m != nil {
		return nil, errors.Join(err, m.refusal(place))
	}
	logs, err := readLogs(place)
	if err != nil {
		return nil, err
	}
	r := &Reset{Batch: want.Batch, place: place, Checkpoint: &Checkpoint{}}
	name := path.Join(place.Dir, metadataName)
	data, err := connector.ReadChecked(place.FS, name)
	if err != nil {
		return nil, fmt.Errorf("%s is no checkpoint: %w", place.Dir, err)
	}
	if r.Checkpoint.ID, err = parseMetadata(name, data); err != nil {
		return nil, err
	}
	newest := max(logs.offsets.latest(), logs.commits.latest())
	r.Checkpoint.Begun, r.Checkpoint.Done = logs.offsets.latest(), logs.commits.latest()
	r.Next, r.Backup = newest+3, path.Join(resetName, strconv.FormatInt(newest, 10))
	if err := r.take(logs, want); err != nil {
		return nil, err
	}
	for _, log := range []*batchLog{logs.offsets, logs.commits} {
		for _, id := range log.ids {
			if id > want.Batch {
				r.Moved = append(r.Moved, path.Join(path.Base(log.place.Dir), strconv.FormatInt(id, 10)))
			}
		}
	}
	if len(r.Moved) == 0 && len(want.Offsets) == 0 {
		return nil, fmt.Errorf("there is nothing to do: batch %d is the newest one, and done", want.Batch)
	}
	return r, r.remembered(len(want.Offsets) > 0)
}

// resetLogs are the logs of a checkpoint, which may have damaged files.
type resetLogs struct{ offsets, commits *batchLog }

func readLogs(place connector.Place) (resetLogs, error) {
	l := resetLogs{&batchLog{place: below(place, offsetsName)}, &batchLog{place: below(place, commitsName)}}
	for _, log := range []*batchLog{l.offsets, l.commits} {
		var err error
		if log.ids, err = connector.BatchIDs(log.place); err != nil {
			return l, err
		}
	}
	return l, nil
}

// take reads where the query stood behind the batch.
func (r *Reset) take(logs resetLogs, want ResetRequest) error {
	id := want.Batch
	if !logs.offsets.has(id) {
		if len(logs.offsets.ids) == 0 || id < 0 {
			return fmt.Errorf("the checkpoint has no batch %d; "+
				"to begin at the beginning give the query a new checkpointLocation", id)
		}
		return fmt.Errorf("the checkpoint has no batch %d any more: it keeps those from %d to %d",
			id, logs.offsets.ids[0], logs.offsets.latest())
	}
	entry, err := readOffsets(logs.offsets, id)
	if err != nil {
		return fmt.Errorf("batch %d cannot be gone back to, choose another: %w", id, err)
	}
	r.entry = *entry
	if err := r.done(logs, id); err != nil {
		return err
	}
	r.entry.timestampMs = max(r.entry.timestampMs+1, time.Now().UnixMilli())
	last := logs.offsets.latest()
	if e, err := readOffsets(logs.offsets, last); err == nil {
		r.entry.timestampMs = max(r.entry.timestampMs, e.timestampMs+1)
		entry = e
	} else {
		entry = nil // it is damaged, which a reset is for
	}
	if w := max(r.entry.watermarkMs, r.commit.nextWatermarkMs); w > 0 {
		r.Watermark = time.UnixMilli(w)
	}
	return r.positions(entry, want.Offsets)
}

// done finds the watermark that followed the batch; one that was not done cannot be
// gone back to.
func (r *Reset) done(logs resetLogs, id int64) error {
	if logs.commits.has(id) {
		data, err := logs.commits.read(id)
		if err == nil {
			r.commit, err = parseCommit(logs.commits.path(id), data)
		}
		if err == nil {
			return nil
		}
	}
	// The batch after it proves that it was done, and has its watermark.
	if logs.offsets.has(id + 1) {
		if next, err := readOffsets(logs.offsets, id+1); err == nil {
			r.commit.nextWatermarkMs = next.watermarkMs
			return nil
		}
	}
	return fmt.Errorf("batch %d was begun and is not done: go back to batch %d, or let the query run it",
		id, id-1)
}

// positions puts the sources where they shall begin.
func (r *Reset) positions(last *offsetEntry, offsets map[string]connector.Offset) error {
	used := 0
	r.entry.sources = slices.Clone(r.entry.sources)
	for i := range r.entry.sources {
		s := &r.entry.sources[i]
		for _, key := range []string{strconv.Itoa(i), s.name} {
			o, ok := offsets[key]
			if !ok || key == "" {
				continue
			}
			if o != noOffset && !json.Valid([]byte(o)) {
				return fmt.Errorf("the offset of source %s is not JSON: %.100s", key, o)
			}
			if s.offset = o; o == noOffset {
				s.offset = ""
			}
			used++
		}
		p := SourcePosition{Name: s.name, From: s.offset}
		if last != nil && i < len(last.sources) {
			p.To = last.sources[i].offset
		}
		r.Sources = append(r.Sources, p)
	}
	if used != len(offsets) {
		return fmt.Errorf("an offset was given for a source that the query does not have: "+
			"it has %d, numbered from 0", len(r.entry.sources))
	}
	return nil
}

// remembered makes sure that the state after the batch can still be read.
func (r *Reset) remembered(moved bool) error {
	dir := below(r.place, stateName)
	ops, err := readOperators(dir)
	if err != nil || len(ops) == 0 {
		return err
	}
	if moved {
		return fmt.Errorf("the query keeps state, which belongs to what its sources had read: " +
			"it goes back to a batch, not to offsets; for those give it a new checkpointLocation " +
			"and the starting offsets as options of its sources")
	}
	if err := checkFormat(dir); err != nil {
		return err
	}
	for _, op := range ops {
		store := path.Join(dir.Dir, strconv.Itoa(op.ID))
		_, err := state.Read(r.place.FS, store, r.Batch+1)
		if err == nil {
			r.Operators = append(r.Operators, op.ID)
			continue
		}
		oldest, listed := state.Oldest(r.place.FS, store)
		var missing *state.MissingError
		if listed == nil && errors.As(err, &missing) && oldest > r.Batch+1 {
			return fmt.Errorf("the state of %s (operator %d) after batch %d is not kept any more: "+
				"the oldest that is kept is that after batch %d", op.Name, op.ID, r.Batch, oldest-1)
		}
		return fmt.Errorf("the state of %s (operator %d) after batch %d cannot be read: %w",
			op.Name, op.ID, r.Batch, err)
	}
	return nil
}

// Apply does it. A process that is killed meanwhile leaves a checkpoint that either is
// as before or refuses to start until UndoReset has put it back.
func (r *Reset) Apply() error {
	backup := path.Join(r.place.Dir, r.Backup)
	for _, log := range []string{offsetsName, commitsName} {
		if err := vfs.MkdirDurable(r.place.FS, path.Join(backup, log)); err != nil {
			return err
		}
	}
	m := resetManifest{r.Checkpoint.ID, r.Batch, r.Next, r.Moved, r.Operators}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := vfs.WriteReplace(r.place.FS, path.Join(backup, manifestName), data); err != nil {
		return err
	}
	for _, id := range r.Operators {
		store := path.Join(r.place.Dir, stateName, strconv.Itoa(id))
		if _, err := state.Carry(r.place.FS, store, r.Batch+1, r.Next); err != nil {
			return err
		}
	}
	// Commits that are ahead of offsets keep every start out, until the last file.
	last, before := r.Next-1, r.Next-2
	if err := r.write(commitsName, last, r.commit.encode()); err != nil {
		return err
	}
	if err := moveFiles(r.place, m.Moved, r.place.Dir, backup); err != nil {
		return err
	}
	if err := r.write(commitsName, before, r.commit.encode()); err != nil {
		return err
	}
	if err := r.write(offsetsName, before, r.entry.encode()); err != nil {
		return err
	}
	r.entry.timestampMs++
	return r.write(offsetsName, last, r.entry.encode())
}

func (r *Reset) write(log string, id int64, data []byte) error {
	l := &batchLog{place: below(r.place, log)}
	if err := vfs.MkdirDurable(r.place.FS, l.place.Dir); err != nil {
		return err
	}
	return l.add(id, data)
}

// moveFiles moves files of logs, and their checksums, from one directory to another.
// Those that are not there were moved before.
func moveFiles(place connector.Place, files []string, from, to string) error {
	for _, file := range files {
		for _, name := range []string{vfs.ChecksumName(file), file} {
			err := place.FS.Rename(path.Join(from, name), path.Join(to, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("move %s: %w", name, err)
			}
		}
	}
	for _, dir := range []string{from, to} {
		for _, log := range []string{offsetsName, commitsName} {
			if err := place.FS.SyncDir(path.Join(dir, log)); err != nil {
				return err
			}
		}
	}
	return nil
}

// resets are the manifests of a checkpoint's resets, by their directories.
func resets(place connector.Place) (map[string]*resetManifest, error) {
	infos, err := place.FS.List(path.Join(place.Dir, resetName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string]*resetManifest{}
	for _, info := range infos {
		dir := path.Join(place.Dir, resetName, info.Name)
		data, err := vfs.ReadFile(place.FS, path.Join(dir, manifestName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		m := &resetManifest{}
		if err == nil {
			err = json.Unmarshal(data, m)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path.Join(dir, manifestName), err)
		}
		out[dir] = m
	}
	return out, nil
}

// resumedAt are the batches that resets of a checkpoint went on with, in their order.
func resumedAt(place connector.Place) ([]int64, error) {
	all, err := resets(place)
	var next []int64
	for _, m := range all {
		next = append(next, m.Next)
	}
	slices.Sort(next)
	return next, err
}

// interruptedReset is one that was begun and neither finished nor put back.
func interruptedReset(place connector.Place) (*resetManifest, error) {
	all, err := resets(place)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		offsets, commits := below(place, offsetsName), below(place, commitsName)
		ids, err := connector.BatchIDs(offsets)
		if err != nil {
			return nil, err
		}
		done, err := connector.BatchIDs(commits)
		if err != nil {
			return nil, err
		}
		begun := slices.Contains(done, m.Next-1)
		if finished := len(ids) > 0 && ids[len(ids)-1] >= m.Next-1; begun && !finished {
			return m, nil
		}
	}
	return nil, nil
}

func (m *resetManifest) refusal(place connector.Place) error {
	if m == nil {
		return nil
	}
	return fmt.Errorf("a reset of this checkpoint to batch %d was interrupted: "+
		"put it back with weir checkpoint restore %s, then reset it again", m.Batch, place.Dir)
}

// explained is why a checkpoint is refused, with the way out where a reset of it was
// interrupted.
func explained(place connector.Place, refused *plan.Error) *plan.Error {
	if m, err := interruptedReset(place); err == nil && m != nil {
		refused.Hint = m.refusal(place).Error() + "."
	}
	return refused
}

// UndoReset puts back what the newest reset moved aside, finished or not, and says
// which batch it went to. It refuses when a batch was begun since.
func UndoReset(place connector.Place) (int64, error) {
	all, err := resets(place)
	if err != nil {
		return 0, err
	}
	dir, m := "", (*resetManifest)(nil)
	for d, other := range all {
		if m == nil || other.Next > m.Next {
			dir, m = d, other
		}
	}
	if m == nil {
		return 0, fmt.Errorf("no reset of %s can be put back", place.Dir)
	}
	ids, err := connector.BatchIDs(below(place, offsetsName))
	if err != nil {
		return 0, err
	}
	if len(ids) > 0 && ids[len(ids)-1] >= m.Next {
		return 0, fmt.Errorf("batch %d was begun since the reset to batch %d, which cannot be put back any more",
			ids[len(ids)-1], m.Batch)
	}
	return m.Batch, m.undo(place, dir)
}

// undo goes the way of Apply back; each step may have been done before.
func (m *resetManifest) undo(place connector.Place, dir string) error {
	if err := removeBatch(place, offsetsName, m.Next-1); err != nil {
		return err
	}
	if err := moveFiles(place, m.Moved, dir, place.Dir); err != nil {
		return err
	}
	for _, log := range []string{offsetsName, commitsName} {
		if err := removeBatch(place, log, m.Next-2); err != nil {
			return err
		}
	}
	for _, id := range m.State {
		if err := state.Drop(place.FS, path.Join(place.Dir, stateName, strconv.Itoa(id)), m.Next); err != nil {
			return err
		}
	}
	if err := removeBatch(place, commitsName, m.Next-1); err != nil {
		return err
	}
	if err := place.FS.RemoveAll(dir); err != nil {
		return err
	}
	return place.FS.SyncDir(path.Dir(dir))
}

// removeBatch removes the file of a batch, if it is there, and its checksum.
func removeBatch(place connector.Place, log string, id int64) error {
	name := path.Join(place.Dir, log, strconv.FormatInt(id, 10))
	if err := vfs.RemoveFile(place.FS, name); err != nil {
		return err
	}
	if err := vfs.RemoveChecksum(place.FS, name); err != nil {
		return err
	}
	return place.FS.SyncDir(path.Dir(name))
}
