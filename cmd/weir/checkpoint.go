package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weir-dev/weir/internal/connector"
	"github.com/weir-dev/weir/internal/stream"
	"github.com/weir-dev/weir/internal/vfs"
)

func checkpointCommand() *cobra.Command {
	c := &cobra.Command{Use: "checkpoint", Short: "Take a checkpoint back to an earlier batch, or put that back"}
	c.AddCommand(resetCommand(), restoreCommand())
	return c
}

// resetting is a reset as it is asked for.
type resetting struct {
	asked
	batch   int64
	newest  bool
	offsets []string
	dry     bool
	json    bool
}

func resetCommand() *cobra.Command {
	var r resetting
	c := &cobra.Command{
		Use:   "reset DIR --to-batch N",
		Short: "Let a query go on behind batch N, or from given offsets",
		Long: "Let the query of the checkpoint in DIR go on as it was behind batch N: with the offsets,\n" +
			"the watermark and the state of then. What the batches after it had read comes again, under\n" +
			"new batch ids. What is taken out of the logs is kept below DIR/reset; weir checkpoint\n" +
			"restore DIR puts it back as long as no batch was begun since. A query that runs has to be\n" +
			"stopped first.",
		Args: one("the directory of the checkpoint"),
		RunE: func(c *cobra.Command, args []string) error {
			r.newest = !c.Flags().Changed("to-batch")
			return r.run(c, args[0])
		},
	}
	r.add(c)
	c.Flags().Int64Var(&r.batch, "to-batch", 0,
		"go on behind this batch; weir inspect checkpoint shows the newest one")
	c.Flags().StringArrayVar(&r.offsets, "offset", nil,
		"begin source `N=JSON` at this offset, - for its beginning; a query without state only")
	c.Flags().BoolVar(&r.dry, "dry-run", false, "say what would happen and change nothing")
	c.Flags().BoolVar(&r.json, "json", false, "print it as a JSON object")
	return c
}

func (r *resetting) run(c *cobra.Command, name string) error {
	place, err := checkpointAt(name)
	if err != nil {
		return err
	}
	want := stream.ResetRequest{Batch: r.batch, Offsets: map[string]connector.Offset{}}
	for _, o := range r.offsets {
		source, offset, ok := strings.Cut(o, "=")
		if !ok {
			return fmt.Errorf("--offset %s: write SOURCE=JSON, such as 0={\"logOffset\":3}", o)
		}
		want.Offsets[source] = connector.Offset(offset)
	}
	if r.newest {
		if len(want.Offsets) == 0 {
			return errors.New("say where to: --to-batch N, or --offset SOURCE=JSON")
		}
		found, err := stream.Inspect(place)
		if err != nil {
			return err
		}
		want.Batch = found.Done
	}
	plan, err := stream.PlanReset(place, want)
	if err != nil {
		return err
	}
	if err := r.stopped(c.Context(), plan.Checkpoint.ID); err != nil {
		return err
	}
	if !r.dry {
		if err := plan.Apply(); err != nil {
			return fmt.Errorf("the reset is not finished, weir checkpoint restore %s puts it back: %w",
				place.Dir, err)
		}
	}
	if r.json {
		return printJSON(c.OutOrStdout(), resetOf(place.Dir, plan, !r.dry))
	}
	return r.print(c.OutOrStdout(), place.Dir, plan)
}

func checkpointAt(name string) (connector.Place, error) {
	dir, err := directory(name)
	return connector.Place{FS: vfs.NewLocal(), Dir: dir}, err
}

// stopped makes sure that the server of --dir does not run the query. Another server
// that does loses: its next batch meets files that are there already.
func (a *asked) stopped(ctx context.Context, id string) error {
	if _, err := a.addresses(); err != nil {
		return nil // no server runs there
	}
	body, err := a.ask(ctx, http.MethodGet, "/api/v1/queries", nil)
	if err != nil {
		return fmt.Errorf("whether the query runs is not known: %w", err)
	}
	var all struct{ Queries []listedQuery }
	if err := json.Unmarshal(body, &all); err != nil {
		return fmt.Errorf("the list of queries: %w", err)
	}
	for _, q := range all.Queries {
		if q.ID == id && q.EndedAtMs == nil {
			return fmt.Errorf("the query runs (%s): stop it first, weir stop %s does", q.called(), id)
		}
	}
	return nil
}

// resetJSON is a reset for programs.
type resetJSON struct {
	Path        string         `json:"path"`
	QueryID     string         `json:"queryId"`
	Applied     bool           `json:"applied"`
	Batch       int64          `json:"batch"`
	NextBatch   int64          `json:"nextBatch"`
	WatermarkMs *int64         `json:"watermarkMs"`
	Sources     []positionJSON `json:"sources"` // read again: from … to
	State       []int          `json:"stateOperators"`
	Moved       []string       `json:"moved"`
	Backup      string         `json:"backup"`
}

func resetOf(dir string, r *stream.Reset, applied bool) *resetJSON {
	out := &resetJSON{
		Path: dir, QueryID: r.Checkpoint.ID, Applied: applied, Batch: r.Batch, NextBatch: r.Next,
		Sources: []positionJSON{}, State: append([]int{}, r.Operators...), Moved: append([]string{}, r.Moved...),
		Backup: r.Backup,
	}
	if !r.Watermark.IsZero() {
		ms := r.Watermark.UnixMilli()
		out.WatermarkMs = &ms
	}
	for _, s := range r.Sources {
		out.Sources = append(out.Sources, positionJSON{s.Name, rawOffset(s.From), rawOffset(s.To)})
	}
	return out
}

func (r *resetting) print(out io.Writer, dir string, plan *stream.Reset) error {
	verb := "The query goes on"
	if r.dry {
		verb = "Nothing was changed. The query would go on"
	}
	fmt.Fprintf(out, "%s behind batch %d, as batch %d.\n", verb, plan.Batch, plan.Next)
	fmt.Fprintf(out, "Ids up to %d were used, and %d and %d, which read nothing, lead to it.\n",
		plan.Next-3, plan.Next-2, plan.Next-1)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, oneLine(fmt.Sprintf(format, args...)))
	}
	row("checkpoint", "%s", dir)
	row("query id", "%s", plan.Checkpoint.ID)
	row("newest batch begun, done", "%s, %s", batchText(plan.Checkpoint.Begun), batchText(plan.Checkpoint.Done))
	if !plan.Watermark.IsZero() {
		row("watermark", "%s", plan.Watermark.UTC().Format("2006-01-02 15:04:05.000 UTC"))
	}
	for i, s := range plan.Sources {
		name := s.Name
		if name == "" {
			name = strconv.Itoa(i)
		}
		row("read again of source "+oneLine(name), "%s → %s", offsetText(s.From), offsetText(s.To))
	}
	for _, id := range plan.Operators {
		row("state of operator "+strconv.Itoa(id), "as it was behind batch %d", plan.Batch)
	}
	row("moved to "+plan.Backup, "%s", inRanges(plan.Moved))
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, resetNote, dir)
	return err
}

// inRanges names files of logs, such as offsets/7, and those that follow one another by
// the first and the last, offsets/7–9.
func inRanges(files []string) string {
	if len(files) == 0 {
		return "nothing"
	}
	var text strings.Builder
	for i := 0; i < len(files); {
		first := i
		for i++; i < len(files) && files[i] == following(files[i-1]); i++ {
		}
		text.WriteString(" " + files[first])
		if i-1 > first {
			text.WriteString("–" + path.Base(files[i-1]))
		}
	}
	return text.String()[1:]
}

// following is the name of a log's next file.
func following(file string) string {
	id, err := strconv.ParseInt(path.Base(file), 10, 64)
	if err != nil {
		return ""
	}
	return path.Join(path.Dir(file), strconv.FormatInt(id+1, 10))
}

const resetNote = `Every sink gets the rows that are read again, and does not know that it had them: batch ids are never used
twice. What the batches after that one wrote stays, so take it out of the sink first if rows must not be there
twice (a Delta table: RESTORE TABLE … TO VERSION AS OF …). Rows that a source no longer has do not come again.
weir checkpoint restore %s puts the checkpoint back until a batch was begun.
`

func restoreCommand() *cobra.Command {
	var a asked
	c := &cobra.Command{
		Use:   "restore DIR",
		Short: "Put back what the last reset of a checkpoint moved aside",
		Args:  one("the directory of the checkpoint"),
		RunE: func(c *cobra.Command, args []string) error {
			place, err := checkpointAt(args[0])
			if err != nil {
				return err
			}
			found, err := stream.Inspect(place)
			if err != nil {
				return err
			}
			if err := a.stopped(c.Context(), found.ID); err != nil {
				return err
			}
			batch, err := stream.UndoReset(place)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "The checkpoint is as it was before the reset to batch %d.\n", batch)
			return err
		},
	}
	a.add(c)
	return c
}
