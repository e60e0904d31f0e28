package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/vfs"
)

// sinkLogDir is where a streaming query that writes files logs which of them
// are whole.
const sinkLogDir = "_spark_metadata"

// sinkBlockSize is the block size that Hadoop's local file system claims.
const sinkBlockSize = 32 << 20

// hasSinkLog reports whether a directory is the output of a streaming query.
func hasSinkLog(fsys vfs.FS, dir string) (bool, error) {
	info, err := fsys.Stat(path.Join(dir, sinkLogDir))
	if vfs.NotFound(err) {
		return false, nil
	}
	return err == nil && info.IsDir(), err
}

// loggedFile is a line of a sink's log.
type loggedFile struct {
	Path             string `json:"path"`
	Size             int64  `json:"size"`
	IsDir            bool   `json:"isDir"`
	ModificationTime int64  `json:"modificationTime"`
	BlockReplication int    `json:"blockReplication"`
	BlockSize        int64  `json:"blockSize"`
	Action           string `json:"action"`
}

func (f loggedFile) line() string {
	return fmt.Sprintf(`{"path":%s,"size":%d,"isDir":%t,"modificationTime":%d,"blockReplication":%d,`+
		`"blockSize":%d,"action":%s}`, plan.JSONText(f.Path), f.Size, f.IsDir, f.ModificationTime,
		f.BlockReplication, f.BlockSize, plan.JSONText(f.Action))
}

func parseLogged(lines []string) ([]loggedFile, error) {
	files := make([]loggedFile, 0, len(lines))
	for _, line := range lines {
		var f loggedFile
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.Path == "" {
			return nil, connector.IllegalState("a line is no entry of a file sink: %.200s", line)
		}
		files = append(files, f)
	}
	return files, nil
}

// liveFiles leaves out files that a later line deletes.
func liveFiles(files []loggedFile) []loggedFile {
	deleted := map[string]bool{}
	for _, f := range files {
		if f.Action == "delete" {
			deleted[f.Path] = true
		}
	}
	live := files[:0]
	for _, f := range files {
		if !deleted[f.Path] {
			live = append(live, f)
		}
	}
	return live
}

// fromSinkLog lists the files that a streaming query wrote.
func (t *tree) fromSinkLog(root vfs.Location, start string) ([]dataFile, error) {
	place := connector.Place{FS: root.FS, Dir: path.Join(start, sinkLogDir)}
	log, err := openCompactLog(t.env, place, "fileSink")
	if err != nil {
		return nil, err
	}
	lines, err := log.all(connector.ConfInt(t.env, "spark.sql.streaming.fileSink.log.compactInterval", 10))
	if errors.Is(err, fs.ErrNotExist) {
		// It must not pass for a path that does not exist.
		return nil, connector.IllegalState("The log %s of a streaming query lacks a file up to batch %d: %s",
			root.Text(place.Dir), log.latest, err.Error())
	}
	if err != nil {
		return nil, err
	}
	logged, err := parseLogged(lines)
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", place.Dir, err)
	}
	var files []dataFile
	seen := map[string]bool{}
	for _, f := range liveFiles(logged) {
		if seen[f.Path] {
			return nil, connector.UnreadableLog(place.Dir,
				connector.IllegalState("%s stands in it twice: the entry of one batch has "+
					"been put in the place of another's", f.Path))
		}
		seen[f.Path] = true
		loc, err := t.env.Files.FromURI(f.Path)
		if err != nil {
			return nil, fmt.Errorf("read log %s: %w", place.Dir, err)
		}
		d := dataFile{loc: loc, path: loc.Path, size: f.Size, mtime: f.ModificationTime, base: start}
		if !f.IsDir && t.wants(d) {
			files = append(files, d)
		}
	}
	return files, nil
}

// sink writes each batch as files and then as one entry of its log, which
// readers go by.
type sink struct {
	env  *connector.Env
	kind *kind
	spec connector.SinkSpec
	loc  vfs.Location
	log  *compactLog
}

// checkMode refuses the output modes that change rows.
func (k *kind) checkMode(mode plan.OutputMode) error {
	if mode == plan.AppendMode {
		return nil
	}
	name := strings.ToLower(mode.String())
	return plan.AnalysisError("STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE",
		fmt.Sprintf("%s files can only be appended to; output mode %s is not possible.", k.title, name),
		"className", k.name, "outputMode", name)
}

func (k *kind) openSink(
	_ context.Context, env *connector.Env, spec connector.SinkSpec,
) (connector.Sink, error) {
	if spec.Path == "" {
		return nil, plan.NewError(plan.ClassIllegal, "_LEGACY_ERROR_TEMP_2047", "The option path is missing.")
	}
	err := checkPartitions(spec.Schema, spec.Partitions, newPartLook(env), noStreamColumn(spec.Schema))
	if err != nil {
		return nil, err
	}
	loc, err := env.Files.Resolve(spec.Path)
	if err != nil {
		return nil, connector.PathError(spec.Path, err)
	}
	s := &sink{env: env, kind: k, spec: spec, loc: loc}
	place := connector.Place{FS: loc.FS, Dir: path.Join(loc.Path, sinkLogDir)}
	if err := vfs.MkdirDurable(place.FS, place.Dir); err != nil {
		return nil, err
	}
	if _, err := vfs.CleanTemps(place.FS, place.Dir); err != nil {
		return nil, fmt.Errorf("clean %s: %w", place.Dir, err)
	}
	if s.log, err = openCompactLog(env, place, "fileSink"); err != nil {
		return nil, err
	}
	s.log.squeeze = func(lines []string) ([]string, error) { return liveLines(lines) }
	if text, ok := spec.Options.Get("retention"); ok {
		keep, err := connector.Duration(text, "ms")
		if err != nil {
			return nil, err
		}
		s.log.squeeze = func(lines []string) ([]string, error) { return s.young(lines, keep) }
	}
	return s, nil
}

// checkPartitions refuses partition columns that cannot be; missing is the
// error for one that is not in the schema.
func checkPartitions(
	schema plan.Type, partitions []string, look *partLook, missing func(name string) *plan.Error,
) error {
	for i, p := range partitions {
		at := look.find(schema, p)
		if at < 0 {
			return missing(p)
		}
		for _, q := range partitions[:i] {
			if look.same(p, q) {
				return plan.AnalysisError("COLUMN_ALREADY_EXISTS",
					fmt.Sprintf("The column %s occurs twice among the partition columns.", p),
					"columnName", plan.Quote(strings.ToLower(p)))
			}
		}
		if f := schema.Fields[at]; !f.Type.IsAtomic() || f.Type.IsInterval() || f.Type.Kind == plan.KindNull {
			return plan.AnalysisError("INVALID_PARTITION_COLUMN_DATA_TYPE",
				fmt.Sprintf("A column of type %s cannot be a partition column.", f.Type.Simple()),
				"type", `"`+f.Type.SQL()+`"`)
		}
	}
	if len(partitions) > 0 && len(partitions) == len(schema.Fields) {
		return plan.AnalysisError("ALL_PARTITION_COLUMNS_NOT_ALLOWED",
			"Every column is a partition column, so no data would be left for the files.")
	}
	return nil
}

// noStreamColumn is the error of a stream for a partition column that is missing.
func noStreamColumn(schema plan.Type) func(name string) *plan.Error {
	return func(name string) *plan.Error {
		names := make([]string, len(schema.Fields))
		for i, f := range schema.Fields {
			names[i] = f.Name
		}
		return plan.AnalysisError("_LEGACY_ERROR_TEMP_1196",
			fmt.Sprintf("There is no column %s to partition by.", name),
			"columnName", name, "columnType", "Partition", "validColumnNames", strings.Join(names, ", "))
	}
}

func liveLines(lines []string) ([]string, error) {
	files, err := parseLogged(lines)
	if err != nil {
		return nil, err
	}
	live := lines[:0]
	for _, f := range liveFiles(files) {
		live = append(live, f.line())
	}
	return live, nil
}

// young drops the lines of files that are older than the sink's retention.
func (s *sink) young(lines []string, keepMs int64) ([]string, error) {
	files, err := parseLogged(lines)
	if err != nil {
		return nil, err
	}
	oldest := s.env.Now().UnixMilli() - keepMs
	live := lines[:0]
	for _, f := range liveFiles(files) {
		if f.ModificationTime >= oldest {
			live = append(live, f.line())
		}
	}
	return live, nil
}

func (s *sink) Describe() string { return "FileSink[" + s.loc.Text(s.loc.Path) + "]" }

// Holds reports whether the log has the batch.
func (s *sink) Holds(_ context.Context, batchID int64) (bool, error) {
	return batchID <= s.log.latest, nil
}

// uncounted is how many batches before one that a reset goes on with the log may lack: two
// that the reset put in, and one that was begun and not written.
const uncounted = 3

// Follow fills in the batches that resets passed over, and refuses a log that has not all
// that the checkpoint has committed: what is missing would never be written again, and at the
// next compaction the query would end for want of it. A new output takes what comes.
func (s *sink) Follow(committed int64, resets []int64) error {
	for _, next := range resets {
		if s.log.latest < max(0, next-1-uncounted) {
			continue
		}
		for id := s.log.latest + 1; id < next; id++ {
			if err := s.log.add(id, nil); err != nil {
				return err
			}
		}
	}
	if s.log.latest >= committed {
		return nil
	}
	has := fmt.Sprintf("ends at batch %d", s.log.latest)
	if s.log.latest < 0 {
		infos, err := s.loc.FS.List(s.loc.Path)
		if err != nil {
			return err
		}
		if len(infos) == 1 { // the log: this is another output, for what comes from now on
			return s.log.begin(committed)
		}
		has = "is empty"
	}
	return connector.IllegalState("the checkpoint has committed batch %d, and the log of the output %s %s: "+
		"what it lacks would not be written again. Put the output back as it was, or start with a new checkpoint "+
		"and a new output", committed, s.loc.Text(s.loc.Path), has)
}

func (s *sink) Write(ctx context.Context, batch connector.Batch) (int64, error) {
	if batch.ID <= s.log.latest {
		return -1, nil
	}
	stage, err := newStage(s.env, s.kind, stageSpec{s.loc, s.spec.Schema, s.spec.Options, s.spec.Partitions})
	if err != nil {
		return 0, err
	}
	stage.name = freshNames
	err = stage.write(ctx, batch.Rows)
	if err == nil {
		err = stage.publish()
	}
	if err != nil {
		return 0, errors.Join(err, stage.discard())
	}
	// After an error of the disk the log may have the batch all the same, so the
	// files stay; if it has not, nobody reads them.
	return -1, s.record(batch.ID, stage)
}

func (s *sink) record(id int64, stage *stage) error {
	lines := make([]string, len(stage.files))
	for i, f := range stage.files {
		info, err := s.loc.FS.Stat(f.final)
		if err != nil {
			return fmt.Errorf("log %s: %w", f.final, err)
		}
		lines[i] = loggedFile{
			Path: s.loc.URI(f.final), Size: info.Size, ModificationTime: info.ModTime.UnixMilli(),
			BlockReplication: 1, BlockSize: sinkBlockSize, Action: "add",
		}.line()
	}
	err := s.log.add(id, lines)
	if errors.Is(err, fs.ErrExist) {
		return connector.IllegalState("Race while writing batch %d", id)
	}
	return err
}

func (s *sink) Close() error { return nil }
