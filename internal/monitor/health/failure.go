package health

import (
	"regexp"
	"slices"
	"strings"
)

// Gist is the line of a failure that says most: of a Python traceback the last that
// names the error, else the first.
func Gist(failure string) string {
	line, _ := gist(failure)
	return line
}

// gist is Gist and, of a traceback, its frames.
func gist(failure string) (line string, frames []string) {
	lines := strings.FieldsFunc(failure, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) == 0 {
		return "", nil
	}
	for i, line := range lines {
		if !strings.HasSuffix(line, "Traceback (most recent call last):") {
			continue
		}
		// Frames are indented, and so is what may follow the error.
		for k, last := range slices.Backward(lines[i+1:]) {
			if strings.TrimLeft(last, " \t") == last {
				return last, lines[i+1:][:k]
			}
		}
	}
	return lines[0], nil
}

// mostHeadline is how many characters a headline has at most.
const mostHeadline = 200

var (
	pythonFrame = regexp.MustCompile(`^\s+File "([^"]+)", line (\d+), in (\S+)`)
	sessionMark = regexp.MustCompile(`\[session: [^\]]*\] \[userId: [^\]]*\] ?`)
	dottedClass = regexp.MustCompile(`^(?:[A-Za-z_]\w*\.)+([A-Za-z_]\w*): `)
	condition   = regexp.MustCompile(`^\[([A-Z_][A-Z0-9_]*)(?:\.[A-Z0-9_.]+)?\] `)
	sqlState    = regexp.MustCompile(`\s*SQLSTATE: \w{5}\s*$`)
	longPath    = regexp.MustCompile(`(?:file:)?/(?:[^\s/:,'"]+/)+([^\s/:,'"]+/[^\s/:,'"]+)`)
	damagedLog  = regexp.MustCompile(`(?:^|[\s/])((?:offsets|commits|sources/\d+|state|metadata)(?:/\d+)?)` +
		`(?: is damaged|\. Incomplete log file|\. \[(?:MALFORMED_LOG_FILE|INVALID_LOG_VERSION))`)
)

// Headline is a failure in one line for a table: "ValueError: bad batch (app.py:7, in
// merge)", "UNRESOLVED_COLUMN: no column is called `nope`", "Checkpoint damaged:
// commits/3". Of names of classes and paths only the end stays.
func Headline(failure string) string {
	line, frames := gist(failure)
	if log := damagedLog.FindStringSubmatch(line); log != nil {
		return "Checkpoint damaged: " + log[1]
	}
	line = sqlState.ReplaceAllString(sessionMark.ReplaceAllString(line, ""), "")
	if class := dottedClass.FindStringSubmatch(line); class != nil {
		rest := line[len(class[0]):]
		if line = class[1] + ": " + rest; strings.HasPrefix(rest, "[") {
			line = rest
		}
	}
	if c := condition.FindStringSubmatch(line); c != nil {
		rest := firstSentence(line[len(c[0]):])
		if line = c[1] + ": " + rest; strings.HasPrefix(c[1], "_LEGACY_") {
			line = rest
		}
	}
	line = longPath.ReplaceAllString(line, "$1")
	return cutTo(line, mostHeadline) + raisedIn(frames)
}

// firstSentence is a text up to the full stop behind which another sentence begins.
func firstSentence(text string) string {
	text, _, more := strings.Cut(text, ". ")
	if more && strings.HasSuffix(text, "..") { // three of them are one mark
		return text + "."
	}
	if strings.HasSuffix(text, "...") {
		return text
	}
	return strings.TrimSuffix(text, ".")
}

func cutTo(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// raisedIn is the last frame of the user's own in a traceback.
func raisedIn(frames []string) string {
	for _, frame := range slices.Backward(frames) {
		m := pythonFrame.FindStringSubmatch(frame)
		if m == nil || strings.Contains(m[1], "site-packages") || strings.Contains(m[1], "/lib/python") {
			continue
		}
		file := m[1][strings.LastIndexAny(m[1], `/\`)+1:]
		return " (" + file + ":" + m[2] + ", in " + m[3] + ")"
	}
	return ""
}

// inPhase says in what a batch failed.
var inPhase = [PhaseCount]string{
	"asking the sources", "planning", "reading", "computing", "writing its state", "writing to the sink",
	"writing the checkpoint's logs",
}

// againWords say what a sink that is not told twice of a batch in one piece may have
// taken of one that failed.
var againWords = map[string]string{
	"foreachBatch": "The function may have acted in part: when the query is started again it gets the same" +
		" batch id and the same rows.",
	"foreach": "The function may have had some of its rows: when the query is started again it gets all of" +
		" them again, with the same batch id.",
	"kafka": "Some of its rows may be in the topic: when the query is started again all of them are written" +
		" again.",
}

// explainFailure says which batch failed in what, and what to do.
func (w *Watch) explainFailure(a *Assessment) {
	a.Reason = Headline(w.failure)
	a.EtaWord, a.EtaText = "When it is started again", "A failed query is not started by itself."
	last := "Batch" + nbsp + batchNumber(w.lastID)
	f := w.failedIn
	switch {
	case f != nil:
		id := "batch" + nbsp + batchNumber(f.ID)
		in := inPhase[f.Phase]
		if w.config.Sink == "foreachBatch" && strings.Contains(w.failure, "foreachBatch") {
			in = "its foreachBatch function"
		}
		a.Sentence = "Failed in " + id + ", " + in + "."
		a.Todo = append(a.Todo, "Mend what the error names and start the program again with the same checkpoint:"+
			" it goes on with "+id+".")
		if again := againWords[w.config.Sink]; again != "" {
			a.Why = append(a.Why, again)
		}
	case w.config.Afterwards && w.commitAt.IsZero():
		a.Sentence = "Failed before its first batch was committed."
		a.Todo = append(a.Todo, "Mend what the error names and start the program again.")
		return
	case w.config.Afterwards:
		a.Sentence = "Failed after b" + last[1:] + "."
		a.Todo = append(a.Todo, "Mend what the error names and start the program again with the same checkpoint.")
	case w.commitAt.IsZero():
		a.Sentence = "Failed before the first batch of this run."
		a.Todo = append(a.Todo, "Mend what the error names and start the program again.")
	default:
		a.Sentence = "Failed between batches, after b" + last[1:] + "."
		a.Todo = append(a.Todo, "Mend what the error names and start the program again with the same checkpoint.")
	}
	if !w.commitAt.IsZero() || w.resumed {
		a.Why = append(a.Why, last+" and those before it are committed: nothing of them is lost or done again.")
	}
}
