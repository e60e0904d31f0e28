package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-dev/weir"
	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/stream"
	"github.com/weir-dev/weir/internal/vfs"
)

func inspectCommand() *cobra.Command {
	c := &cobra.Command{Use: "inspect", Short: "Look into checkpoints, state and Delta tables, changing nothing"}
	c.AddCommand(inspectCheckpointCommand(), inspectStateCommand(), inspectDeltaCommand())
	return c
}

func inspectCheckpointCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "checkpoint DIR",
		Short: "Say where a query would go on: batches, offsets, watermark",
		Args:  one("the directory of the checkpoint"),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := directory(args[0])
			if err != nil {
				return err
			}
			found, err := stream.Inspect(connector.Place{FS: vfs.NewLocal(), Dir: dir})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), checkpointOf(dir, found))
			}
			return printCheckpoint(c.OutOrStdout(), dir, found)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print it as a JSON object")
	return c
}

// directory is an existing one, by its whole path.
func directory(name string) (string, error) {
	dir, err := filepath.Abs(strings.TrimPrefix(name, "file:"))
	if err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is a file, not a directory", dir)
	}
	return dir, nil
}

func printJSON(out io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintln(out, string(text))
	}
	return err
}

// checkpointJSON is a checkpoint for programs.
type checkpointJSON struct {
	Path        string            `json:"path"`
	QueryID     string            `json:"queryId"`
	BegunBatch  int64             `json:"begunBatch"`
	DoneBatch   int64             `json:"doneBatch"`
	KeptBatches int               `json:"keptBatches"`
	NextBatch   *int64            `json:"nextBatch"`
	Replay      bool              `json:"replay"`
	PlannedAtMs *int64            `json:"plannedAtMs"`
	WatermarkMs *int64            `json:"watermarkMs"`
	Sources     []positionJSON    `json:"sources"`
	Confs       map[string]string `json:"confs"`
	State       bool              `json:"state"`
	Warning     string            `json:"warning"`
	Problem     string            `json:"problem"`
}

type positionJSON struct {
	Name string          `json:"name"`
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

func checkpointOf(dir string, c *stream.Checkpoint) *checkpointJSON {
	out := &checkpointJSON{
		Path: dir, QueryID: c.ID, BegunBatch: c.Begun, DoneBatch: c.Done, KeptBatches: c.Kept, Replay: c.Replay,
		Sources: []positionJSON{}, Confs: c.Confs, State: c.State, Warning: c.Warning,
	}
	if c.Problem != nil {
		out.Problem = c.Problem.Error()
	} else {
		out.NextBatch = &c.Next
	}
	ms := func(t time.Time) *int64 {
		if t.IsZero() {
			return nil
		}
		n := t.UnixMilli()
		return &n
	}
	out.PlannedAtMs, out.WatermarkMs = ms(c.PlannedAt), ms(c.Watermark)
	for _, s := range c.Sources {
		out.Sources = append(out.Sources, positionJSON{s.Name, rawOffset(s.From), rawOffset(s.To)})
	}
	return out
}

func rawOffset(o connector.Offset) json.RawMessage {
	if o == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(o)
}

func printCheckpoint(out io.Writer, dir string, c *stream.Checkpoint) error {
	fmt.Fprintln(out, oneLine(verdictOf(c)))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, oneLine(fmt.Sprintf(format, args...)))
	}
	row("checkpoint", "%s", dir)
	row("query id", "%s", c.ID)
	row("newest batch begun", "%s", batchText(c.Begun))
	row("newest batch done", "%s", batchText(c.Done))
	row("batches in the log", "%d", c.Kept)
	if !c.PlannedAt.IsZero() {
		row("planned at", "%s", c.PlannedAt.UTC().Format("2006-01-02 15:04:05.000 UTC"))
	}
	if !c.Watermark.IsZero() {
		row("watermark", "%s", c.Watermark.UTC().Format("2006-01-02 15:04:05.000 UTC"))
	}
	row("state", "%s", map[bool]string{true: "yes; weir inspect state shows it", false: "none"}[c.State])
	for i, s := range c.Sources {
		name := s.Name
		if name == "" {
			name = strconv.Itoa(i)
		}
		row("source "+oneLine(name), "%s → %s", offsetText(s.From), offsetText(s.To))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Confs)) {
		row(oneLine(key), "%s", c.Confs[key])
	}
	return w.Flush()
}

// verdictOf is a checkpoint in a sentence.
func verdictOf(c *stream.Checkpoint) string {
	text := ""
	switch {
	case c.Problem != nil:
		return "A start would be refused: " + c.Problem.Error()
	case c.Begun < 0:
		return "No batch was begun: a start begins at the beginning."
	case c.Replay:
		text = fmt.Sprintf("Batch %d was begun and is not done: a start runs it again over the same input.", c.Next)
	default:
		text = fmt.Sprintf("All is done up to batch %d: a start goes on with batch %d.", c.Done, c.Next)
	}
	if c.Warning != "" {
		text += " There is a gap that does no harm: " + c.Warning + "."
	}
	return text
}

func batchText(id int64) string {
	if id < 0 {
		return "none"
	}
	return strconv.FormatInt(id, 10)
}

func offsetText(o connector.Offset) string {
	if o == "" {
		return "nothing"
	}
	return string(o)
}

// looking is a statement that looks into files with an engine of this process, in a
// directory that is gone afterwards.
type looking struct{ statement }

func (l *looking) look(out io.Writer, of func(context.Context, *weir.Session) (*weir.Frame, error)) error {
	dir, err := os.MkdirTemp("", "weir-inspect-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l.dir = filepath.Join(dir, "data")
	return l.run(out, of)
}

func inspectStateCommand() *cobra.Command {
	var l looking
	var operator int
	var batch int64
	var side, variable string
	c := &cobra.Command{
		Use:   "state DIR",
		Short: "List the stateful operators of a checkpoint, or with --operator what one keeps",
		Args:  one("the directory of the checkpoint"),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := directory(args[0])
			if err != nil {
				return err
			}
			return l.look(c.OutOrStdout(), func(_ context.Context, s *weir.Session) (*weir.Frame, error) {
				if !c.Flags().Changed("operator") {
					return s.Read("state-metadata", dir, nil), nil
				}
				options := map[string]string{"operatorId": strconv.Itoa(operator)}
				if batch >= 0 {
					options["batchId"] = strconv.FormatInt(batch, 10)
				}
				for key, value := range map[string]string{"joinSide": side, "stateVarName": variable} {
					if value != "" {
						options[key] = value
					}
				}
				return s.Read("statestore", dir, options), nil
			})
		},
	}
	c.Flags().IntVar(&operator, "operator", 0, "show the rows of the operator of this id")
	c.Flags().Int64Var(&batch, "batch", -1, "as they were after this batch (default the newest)")
	c.Flags().StringVar(&side, "side", "", "of a join of streams: left or right")
	c.Flags().StringVar(&variable, "variable", "", "of a stateful processor: the variable of this name")
	l.addPrinting(c)
	return c
}

func inspectDeltaCommand() *cobra.Command {
	var l looking
	var history bool
	c := &cobra.Command{
		Use:   "delta DIR",
		Short: "Say what a Delta table is, or with --history what was done to it",
		Args:  one("the directory of the table"),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := directory(args[0])
			if err != nil {
				return err
			}
			what := "DETAIL"
			l.vertical = l.vertical || !history
			if history {
				what = "HISTORY"
			}
			return l.look(c.OutOrStdout(), func(ctx context.Context, s *weir.Session) (*weir.Frame, error) {
				return s.SQL(ctx, "DESCRIBE "+what+" delta.`"+strings.ReplaceAll(dir, "`", "``")+"`")
			})
		},
	}
	c.Flags().BoolVar(&history, "history", false, "list its versions, the newest first")
	l.addPrinting(c)
	return c
}
