package deltatable

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/plan"
	"github.com/weir-dev/weir/internal/testkit"
	"github.com/weir-dev/weir/test/conform"
)

// The places are those of the recorded program features.feed.
func TestChangesAreReadAsAStream(t *testing.T) {
	r := newRig(t)
	describe := `{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":` +
		plan.JSONText(tableID.JSON()) + `,"partitionColumns":[],"configuration":{"delta.enableChangeDataFeed":"true"}}}`
	r.commit(1, describe)
	r.add(1)
	r.add(2)
	remove := func(version int) string {
		return fmt.Sprintf(`{"remove":{"path":%q,"dataChange":true,"partitionValues":{}}}`, r.added(version))
	}
	r.commit(4, remove(2), remove(3))
	r.commit(5, strings.Replace(remove(2), `"dataChange":true`, `"dataChange":false`, 1))
	feed := func(more ...string) connector.Source {
		o := plan.Options{"readChangeFeed": "true"}
		for i := 0; i < len(more); i += 2 {
			o[more[i]] = more[i+1]
		}
		return r.source(o)
	}
	all := []string{"1 insert 2", "1 delete 4", "2 insert 3", "2 delete 4"}
	for _, c := range []struct {
		name   string
		source connector.Source
		places []string
		rows   []string
	}{
		{"at once", feed("startingVersion", "1"), []string{"6/-1"}, all},
		{"one by one", feed("startingVersion", "1", "maxFilesPerTrigger", "1"),
			[]string{"3/-1", "4/-1", "4/0", "5/-1", "6/-1"}, all},
		{"from the table as it is", feed(), nil, nil},
	} {
		places, rows := changesOf(r, c.source, "")
		testkit.Diff(t, "places, "+c.name, places, c.places)
		slices.Sort(c.rows)
		testkit.Diff(t, "rows, "+c.name, rows, c.rows)
	}
	// A batch that was cut off is read again.
	again := feed("startingVersion", "1", "maxFilesPerTrigger", "1")
	from, err := again.Latest(t.Context(), "", connector.Limit{})
	conform.Must(t, err)
	to, err := again.Latest(t.Context(), from, connector.Limit{})
	conform.Must(t, err)
	fresh := feed("startingVersion", "1")
	testkit.Diff(t, "a batch once more", changesIn(r, fresh, from, to), []string{"2 insert 3"})
	places, _ := changesOf(r, fresh, to)
	testkit.Diff(t, "and on", places, []string{"6/-1"})

	_, err = feed("startingVersion", "0").Latest(t.Context(), "", connector.Limit{})
	var e *plan.Error
	if !errors.As(err, &e) || e.Condition != "DELTA_MISSING_CHANGE_DATA" || e.Args["version"] != "0" {
		t.Errorf("without a feed in version 0: %v", err)
	}
}

func changesOf(r *rig, s connector.Source, start connector.Offset) (places, rows []string) {
	for {
		to, err := s.Latest(r.t.Context(), start, connector.Limit{})
		conform.Must(r.t, err)
		if to == start {
			slices.Sort(rows)
			return places, rows
		}
		places = append(places, place(to))
		rows = append(rows, changesIn(r, s, start, to)...)
		start = to
	}
}

// changesIn are changes as id, kind and version.
func changesIn(r *rig, s connector.Source, from, to connector.Offset) (rows []string) {
	for _, row := range conform.RowsOf(r.t, s.Read(r.t.Context(), from, to)) {
		rows = append(rows, fmt.Sprint(row[0], " ", row[1], " ", row[2]))
	}
	return rows
}

func TestExcludedFilesAreNotRead(t *testing.T) {
	r := newRig(t)
	for id := range int64(3) {
		r.add(id)
	}
	o := plan.Options{"excludeRegex": r.added(2), "maxFilesPerTrigger": "1", "startingVersion": "0"}
	places, ids, _ := r.batches(r.source(o), "", connector.Limit{})
	testkit.Diff(t, "places", places, []string{"2/-1", "3/-1", "4/-1"})
	testkit.Diff(t, "ids", ids, []int64{0, 2})
}

func TestAStreamWhoseFilesWereVacuumedNamesTheWayOut(t *testing.T) {
	r := newRig(t)
	r.add(1)
	s := r.source(plan.Options{})
	to, err := s.Latest(t.Context(), "", connector.Limit{})
	conform.Must(t, err)
	conform.Must(t, r.fsys.Remove("/r/t/"+r.added(1)))
	for _, err := range s.Read(t.Context(), "", to) {
		var e *plan.Error
		gone := errors.As(err, &e) && e.Condition == "FAILED_READ_FILE.FILE_NOT_EXIST"
		if gone && strings.Contains(e.Hint, "checkpoint") {
			return
		}
	}
	t.Error("the missing file was not noticed")
}
