package ui

import (
	"net/http"

	"github.com/weir-dev/weir/internal/monitor"
)

// logList is the answer to GET /api/v1/queries/{id}/logs: what the Python functions of
// the newest run printed, as it was printed, the oldest first.
type logList struct {
	Query        string    `json:"query"`
	RunID        string    `json:"runId"`
	LimitLines   int       `json:"limitLines"`
	LimitBytes   int       `json:"limitBytes"`
	DroppedLines int64     `json:"droppedLines"`
	Lines        []logLine `json:"lines"`
}

type logLine struct {
	Line     int64   `json:"line"`
	AtMs     instant `json:"atMs"`
	BatchID  *int64  `json:"batchId"`
	Stream   string  `json:"stream"`
	Text     string  `json:"text"`
	CutBytes int     `json:"cutBytes"`
}

func (s *server) logs(w http.ResponseWriter, r *http.Request) {
	if !s.mayHear(r) {
		refuse(w, http.StatusForbidden, "only the user who started weir may see what functions print; "+
			"weir serve --allow-other-users shows it to every user of the machine")
		return
	}
	if q := s.find(w, r); q != nil {
		list, _ := newLogs(q, 0)
		answer(w, list)
	}
}

// newLogs is the lines behind the first so many, and how many there were in all.
func newLogs(q *monitor.Query, seen int64) (*logList, int64) {
	lines, count, dropped := q.Output().Since(seen)
	list := &logList{
		Query: q.ID(), RunID: q.RunID(), LimitLines: monitor.OutputLines, LimitBytes: monitor.OutputBytes,
		DroppedLines: dropped, Lines: make([]logLine, len(lines)),
	}
	for i := range lines {
		l := &lines[i]
		one := logLine{
			Line: count - int64(len(lines)-i), AtMs: instant(l.At), Stream: "stdout", Text: l.Text, CutBytes: l.Cut,
		}
		if l.Error {
			one.Stream = "stderr"
		}
		if l.Batch >= 0 {
			one.BatchID = &l.Batch
		}
		list.Lines[i] = one
	}
	return list, count
}

// shownLines is how many lines a page shows.
const shownLines = 200

// shown are the lines that a page shows, and missing says what it does not show.
func (l *logList) shown() []logLine { return l.Lines[max(0, len(l.Lines)-shownLines):] }

func (l *logList) missing() string {
	earlier := len(l.Lines) - len(l.shown())
	text := ""
	if earlier > 0 {
		text = whole(number(earlier)) + " earlier lines are in /api/v1/queries/" + l.Query + "/logs. "
	}
	if l.DroppedLines > 0 {
		text += whole(number(l.DroppedLines)) + " lines before them are not kept any more."
	}
	return text
}

// rest says how much of the line is not kept.
func (l *logLine) rest() string {
	if l.CutBytes == 0 {
		return ""
	}
	return "… and " + sizeFigure(number(l.CutBytes)) + " more"
}

func (l *logLine) batch() string {
	if l.BatchID == nil {
		return unknownFig
	}
	return whole(number(*l.BatchID))
}
