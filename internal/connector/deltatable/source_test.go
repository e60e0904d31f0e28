package deltatable

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/chunk"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/internal/vfs"
	"github.com/weir-dev/weir/test/conform"
)

var formats = conform.Formats{Format()}

var tableID = plan.Struct(plan.Col("id", plan.Long))

// rig is a table at /r/t and its streams.
type rig struct {
	t    *testing.T
	fsys vfs.FS
	env  *connector.Env
}

// newRig makes an empty table: version 0.
func newRig(t *testing.T) *rig {
	r := &rig{t: t, fsys: vfs.NewMemory()}
	r.env = conform.NewEnv(t, r.fsys)
	f, _ := formats.Lookup("delta")
	conform.Must(t, f.Create(t.Context(), r.env, connector.CreateSpec{Schema: tableID, Path: "/r/t"}))
	return r
}

// add appends a file with some ids: one version each.
func (r *rig) add(ids ...int64) {
	r.t.Helper()
	r.write(plan.SaveAppend, ids...)
}

func (r *rig) write(mode plan.SaveMode, ids ...int64) {
	r.t.Helper()
	rows := chunk.NewChunk(tableID, len(ids))
	for _, id := range ids {
		rows.AppendValues([]plan.Value{id})
	}
	f, _ := formats.Lookup("delta")
	spec := connector.WriteSpec{Schema: tableID, Path: "/r/t", Mode: mode}
	conform.Must(r.t, f.Write(r.t.Context(), r.env, spec, chunk.One(rows)))
}

// commit writes a version by hand.
func (r *rig) commit(version int, lines ...string) {
	r.t.Helper()
	conform.Must(r.t, vfs.WriteNew(r.fsys, r.log(version), []byte(strings.Join(lines, "\n")+"\n")))
}

func (r *rig) log(version int) string { return fmt.Sprintf("/r/t/_delta_log/%020d.json", version) }

// added is the path of the file that a version added.
func (r *rig) added(version int) string {
	r.t.Helper()
	data, err := vfs.ReadFile(r.fsys, r.log(version))
	conform.Must(r.t, err)
	for line := range strings.Lines(string(data)) {
		var a struct{ Add struct{ Path string } }
		if json.Unmarshal([]byte(line), &a) == nil && a.Add.Path != "" {
			return a.Add.Path
		}
	}
	r.t.Fatalf("version %d added nothing", version)
	return ""
}

func (r *rig) source(o plan.Options) connector.Source {
	r.t.Helper()
	return formats.OpenSource(r.t, r.env, r.scan(o), connector.Place{})
}

func (r *rig) scan(o plan.Options) *plan.Scan {
	return formats.ScanOf(r.t, r.env, &plan.Read{Format: "delta", Streaming: true, Options: o,
		Paths: []string{"/r/t"}})
}

// place is an offset in short: version, index, and ! in the beginning.
func place(o connector.Offset) string {
	var at offset
	if o == "" || json.Unmarshal([]byte(o), &at) != nil {
		return string(o)
	}
	text := fmt.Sprintf("%d/%d", at.Version, at.Index)
	if at.Starting {
		text += "!"
	}
	return text
}

// batches are the batches from an offset until there is nothing new: where each
// ends, and its rows.
func (r *rig) batches(
	s connector.Source, start connector.Offset, limit connector.Limit,
) (places []string, ids []int64, end connector.Offset) {
	r.t.Helper()
	for {
		to, err := s.Latest(r.t.Context(), start, limit)
		conform.Must(r.t, err)
		if to == start {
			slices.Sort(ids) // files of one time come by their names, which are random
			return places, ids, start
		}
		places = append(places, place(to))
		for _, row := range conform.RowsOf(r.t, s.Read(r.t.Context(), start, to)) {
			ids = append(ids, row[0].(int64))
		}
		conform.Must(r.t, s.Advance(r.t.Context(), to))
		start = to
	}
}

func TestDeltaSourceConforms(t *testing.T) {
	r := newRig(t)
	conform.CheckSource(t, conform.SourceCase{
		Steps: 6,
		Open: func(_ string, limited bool) connector.Source {
			if limited {
				return r.source(plan.Options{"maxFilesPerTrigger": "1"})
			}
			return r.source(nil)
		},
		Step: func(n int) {
			if n%3 != 2 {
				r.add(int64(2*n), int64(2*n+1))
			}
		},
	})
}

// The ends of batches are those that Spark 4.2 with Delta 4.4 recorded.
func TestDeltaBatchesEndWhereDeltasDo(t *testing.T) {
	for _, c := range []struct {
		options     plan.Options
		first, then string
	}{
		{plan.Options{}, "6/-1", "9/-1"},
		{plan.Options{"maxFilesPerTrigger": "2"}, "5/1! 5/3! 6/-1", "8/-1 9/-1"},
		{plan.Options{"maxBytesPerTrigger": "1b"}, "5/0! 5/1! 5/2! 5/3! 6/-1", "7/-1 8/-1 9/-1"},
		{plan.Options{"maxFilesPerTrigger": "3", "maxBytesPerTrigger": "1b"},
			"5/0! 5/1! 5/2! 5/3! 6/-1", "7/-1 8/-1 9/-1"},
		{plan.Options{"startingVersion": "0"}, "6/-1", "9/-1"},
		{plan.Options{"startingVersion": "4", "maxFilesPerTrigger": "1"}, "5/-1 6/-1", "7/-1 8/-1 9/-1"},
		{plan.Options{"startingTimestamp": "2020-01-01"}, "6/-1", "9/-1"},
	} {
		r := newRig(t)
		for id := range int64(5) {
			r.add(id)
		}
		s := r.source(c.options)
		places, ids, end := r.batches(s, "", connector.Limit{})
		testkit.Diff(t, fmt.Sprint(c.options, " the first batches"), strings.Join(places, " "), c.first)
		for id := range int64(3) {
			r.add(5 + id)
		}
		// The same after a restart.
		for _, s := range []connector.Source{s, r.source(c.options)} {
			places, more, _ := r.batches(s, end, connector.Limit{})
			testkit.Diff(t, fmt.Sprint(c.options, " the batches then"), strings.Join(places, " "), c.then)
			testkit.Diff(t, "rows", more, []int64{5, 6, 7})
		}
		if c.options["startingVersion"] != "4" {
			testkit.Diff(t, "rows", ids, []int64{0, 1, 2, 3, 4})
		}
	}
}

func TestDeltaBatchIsRepeatedWithItsRows(t *testing.T) {
	r := newRig(t)
	r.add(1, 2)
	r.add(3)
	for _, o := range []plan.Options{{}, {"maxFilesPerTrigger": "1"}, {"startingVersion": "2"}} {
		s := r.source(o)
		to, err := s.Latest(t.Context(), "", connector.Limit{})
		conform.Must(t, err)
		want := conform.RowsOf(t, s.Read(t.Context(), "", to))
		r.add(4)
		got := conform.RowsOf(t, r.source(o).Read(t.Context(), "", to))
		testkit.Diff(t, fmt.Sprint("rows with ", o), got, want)
	}
}

func TestDeltaStreamBeginsWithTheFirstRows(t *testing.T) {
	r := newRig(t)
	s := r.source(nil)
	if to, err := s.Latest(t.Context(), "", connector.Limit{}); to != "" || err != nil {
		t.Errorf("an empty table gave %s, %v", to, err)
	}
	r.add(1)
	places, ids, _ := r.batches(s, "", connector.Limit{})
	testkit.Diff(t, "batches", places, []string{"2/-1"})
	testkit.Diff(t, "rows", ids, []int64{1})

	s = r.source(plan.Options{"startingVersion": "latest"})
	if to, err := s.Latest(t.Context(), "", connector.Limit{}); to != "" || err != nil {
		t.Errorf("from latest: %s, %v", to, err)
	}
	r.add(2)
	_, ids, _ = r.batches(s, "", connector.Limit{})
	testkit.Diff(t, "rows from latest", ids, []int64{2})
}

func TestDeltaAvailableNowEndsWhereItBegan(t *testing.T) {
	for _, o := range []plan.Options{{}, {"maxFilesPerTrigger": "1"}, {"startingVersion": "1"}} {
		r := newRig(t)
		r.add(1)
		r.add(2)
		s := r.source(o)
		end, err := s.(connector.Pinner).Pin(t.Context())
		conform.Must(t, err)
		r.add(3)
		_, ids, at := r.batches(s, "", connector.Limit{End: end})
		testkit.Diff(t, fmt.Sprint("rows with ", o), ids, []int64{1, 2})
		testkit.Diff(t, "end", place(at), "3/-1")
	}
}

const (
	removeLine = `{"remove":{"path":"%s","dataChange":true,"deletionTimestamp":1}}`
	infoLine   = `{"commitInfo":{"operation":"UPDATE","operationParameters":{"predicate":"[\"(id = 1)\"]"}}}`
)

// As Spark's recorded refusals: what was read before must not change unseen.
func TestDeltaChangesOfReadRowsAreRefusedOrPassedOver(t *testing.T) {
	for _, c := range []struct {
		options         plan.Options
		deleted, update string // a condition, or the rows
	}{
		{plan.Options{}, "DELTA_SOURCE_IGNORE_DELETE", "DELTA_SOURCE_TABLE_IGNORE_CHANGES"},
		{plan.Options{"ignoreDeletes": "true"}, "[9]", "DELTA_SOURCE_TABLE_IGNORE_CHANGES"},
		{plan.Options{"ignoreChanges": "true"}, "[9]", "[8 9]"},
		{plan.Options{"skipChangeCommits": "true"}, "[9]", "[9]"},
	} {
		for kind, want := range map[string]string{"deleted": c.deleted, "update": c.update} {
			r := newRig(t)
			r.add(1)
			_, _, end := r.batches(r.source(c.options), "", connector.Limit{})
			gone := fmt.Sprintf(removeLine, r.added(1))
			if kind == "update" {
				r.add(8) // gives a file; its commit is written anew as the update
				line := fmt.Sprintf(`{"add":{"path":"%s","partitionValues":{},"size":1,"modificationTime":1,`+
					`"dataChange":true}}`, r.added(2))
				conform.Must(t, r.fsys.Remove(r.log(2)))
				r.commit(2, infoLine, gone, line)
			} else {
				r.commit(2, infoLine, gone)
			}
			r.add(9)
			s := r.source(c.options)
			_, err := s.Latest(t.Context(), end, connector.Limit{})
			if e, ok := err.(*plan.Error); ok {
				testkit.Diff(t, fmt.Sprint(kind, c.options), e.Condition, want)
				if info := e.Args["changeInfo"]; info != "" && info != `UPDATE (Map(predicate -> "[\"(id = 1)\"]"))` {
					t.Errorf("the change is told as %s", info)
				}
				continue
			}
			_, ids, _ := r.batches(s, end, connector.Limit{})
			testkit.Diff(t, fmt.Sprint(kind, c.options), fmt.Sprint(ids), want)
		}
	}
}

func TestDeltaOverwriteOfTheTableIsAChange(t *testing.T) {
	r := newRig(t)
	r.add(1)
	_, _, end := r.batches(r.source(nil), "", connector.Limit{})
	r.write(plan.SaveOverwrite, 7)
	_, err := r.source(nil).Latest(t.Context(), end, connector.Limit{})
	e, ok := err.(*plan.Error)
	if !ok || e.Condition != "DELTA_SOURCE_TABLE_IGNORE_CHANGES" {
		t.Fatalf("got %v", err)
	}
	testkit.Diff(t, "change", e.Args["changeInfo"], `WRITE (Map(mode -> "Overwrite", partitionBy -> "[]"))`)
	_, ids, _ := r.batches(r.source(plan.Options{"skipChangeCommits": "true"}), end, connector.Limit{})
	testkit.Diff(t, "rows", len(ids), 0)
}

func TestDeltaStreamOptionsAreChecked(t *testing.T) {
	r := newRig(t)
	r.add(1)
	for _, c := range []struct {
		options   plan.Options
		condition string
		args      string
	}{
		{plan.Options{"maxFilesPerTrigger": "0"}, "DELTA_ILLEGAL_OPTION", "must be a positive integer"},
		{plan.Options{"maxFilesPerTrigger": "x"}, "DELTA_ILLEGAL_OPTION", "must be a positive integer"},
		{plan.Options{"maxBytesPerTrigger": "lots"}, "DELTA_ILLEGAL_OPTION", "must be a size configuration such as '10g'"},
		{plan.Options{"ignoreDeletes": "maybe"}, "DELTA_ILLEGAL_OPTION", "must be 'true' or 'false'"},
		{plan.Options{"startingVersion": "-1"}, "DELTA_ILLEGAL_OPTION", "must be greater than or equal to zero"},
		{plan.Options{"startingVersion": "1.5"}, "DELTA_ILLEGAL_OPTION", "must be greater than or equal to zero"},
		{plan.Options{"startingVersion": "2"}, "DELTA_VERSION_NOT_FOUND", "2"},
		{plan.Options{"startingTimestamp": "soon"}, "DELTA_TIMESTAMP_INVALID", "'soon'"},
		{plan.Options{"startingTimestamp": "2999-01-01T00:00:00Z"}, "DELTA_TIMESTAMP_GREATER_THAN_COMMIT",
			"2999-01-01 00:00:00.0"},
		{plan.Options{"startingVersion": "1", "startingTimestamp": "2020-01-01"},
			"DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET", "startingVersion"},
		{plan.Options{"excludeRegex": "["}, "DELTA_REGEX_OPT_SYNTAX_ERROR", "excludeRegex"},
		{plan.Options{"readChangeFeed": "true", "startingVersion": "0"}, "DELTA_MISSING_CHANGE_DATA", "0"},
	} {
		f, _ := formats.Lookup("delta")
		s, err := f.Source(t.Context(), r.env, r.scan(c.options), connector.Place{})
		if err == nil {
			_, err = s.Latest(t.Context(), "", connector.Limit{})
		}
		e, ok := err.(*plan.Error)
		if !ok || e.Condition != c.condition {
			t.Errorf("%v: got %v, want %s", c.options, err, c.condition)
			continue
		}
		found := c.args == ""
		for _, v := range e.Args {
			found = found || v == c.args
		}
		if !found {
			t.Errorf("%v: parameters %v, want %q among them", c.options, e.Args, c.args)
		}
	}
}

func TestDeltaStreamStopsWhereTheTableIsAnotherOne(t *testing.T) {
	r := newRig(t)
	r.add(1)
	s := r.source(nil)
	_, _, end := r.batches(s, "", connector.Limit{})
	meta := `{"metaData":{"id":"other","format":{"provider":"parquet","options":{}},"schemaString":` +
		`"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},` +
		`{\"name\":\"x\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],` +
		`"configuration":{}}}`
	r.commit(2, meta)
	want := func(s connector.Source, condition string) {
		t.Helper()
		_, err := s.Latest(t.Context(), end, connector.Limit{})
		if e, ok := err.(*plan.Error); !ok || e.Condition != condition {
			t.Errorf("got %v, want %s", err, condition)
		}
	}
	want(s, "DELTA_SCHEMA_CHANGED_WITH_VERSION")
	want(r.source(nil), "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE")
	end = "nonsense"
	want(r.source(nil), "")
}

func TestDeltaStreamTellsOfVersionsThatAreGone(t *testing.T) {
	r := newRig(t)
	r.add(1)
	_, _, end := r.batches(r.source(nil), "", connector.Limit{})
	for id := range int64(12) {
		r.add(2 + id) // version 10 has a checkpoint
	}
	for version := range 9 {
		conform.Must(t, r.fsys.Remove(r.log(version)))
	}
	_, err := r.source(nil).Latest(t.Context(), end, connector.Limit{})
	e, ok := err.(*plan.Error)
	if !ok || e.Condition != "DELTA_MISSING_FILES_UNEXPECTED_VERSION" {
		t.Fatalf("got %v", err)
	}
	testkit.Diff(t, "what is gone, and what is left", e.Args,
		map[string]string{"startVersion": "2", "earliestVersion": "9", "option": "failOnDataLoss"})
	if !strings.Contains(e.Msg, "/r/t") {
		t.Errorf("%q does not name the table", e.Msg)
	}
	_, ids, _ := r.batches(r.source(plan.Options{"failOnDataLoss": "false"}), end, connector.Limit{})
	testkit.Diff(t, "rows", ids, []int64{9, 10, 11, 12, 13})
}

func TestDeltaStreamSaysWhatIsLeft(t *testing.T) {
	r := newRig(t)
	for id := range int64(4) {
		r.add(id)
	}
	s := r.source(plan.Options{"maxFilesPerTrigger": "3"})
	to, err := s.Latest(t.Context(), "", connector.Limit{})
	conform.Must(t, err)
	r.add(4)
	got := s.(connector.Metered).Metrics(to)
	if got["numFilesOutstanding"] != "2" || got["numBytesOutstanding"] == "0" {
		t.Errorf("got %v", got)
	}
}

func TestDeltaVersionsAreAsOldAsTheirCommits(t *testing.T) {
	r := newRig(t)
	r.add(1)
	r.add(2)
	for version, at := range []string{"2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"} {
		when, err := time.Parse(time.RFC3339, at)
		conform.Must(t, err)
		conform.Must(t, r.fsys.SetModTime(r.log(version), when))
	}
	for from, want := range map[string][]int64{
		"2023-12-31": {1, 2}, "2024-01-02 00:00:00": {1, 2}, "2024-01-02 00:00:01": {2}, "2024-01-03": {2},
	} {
		_, ids, _ := r.batches(r.source(plan.Options{"startingTimestamp": from}), "", connector.Limit{})
		testkit.Diff(t, "rows from "+from, ids, want)
	}
}
