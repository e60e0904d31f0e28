package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/weir-dev/weir/internal/monitor/health"
)

func statusCommand() *cobra.Command {
	var a asked
	var asJSON, check bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Say how the queries of a running server do",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			body, err := a.fleet(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				_, err = fmt.Fprintln(c.OutOrStdout(), string(body))
				return err
			}
			if err := printFleet(c.OutOrStdout(), body, widthOf(c.OutOrStdout())); err != nil || !check {
				return err
			}
			return troubled(body)
		},
	}
	a.add(c)
	c.Flags().BoolVar(&check, "check", false, "end with 1 when a query needs somebody, for scripts and cron")
	c.Flags().BoolVar(&asJSON, "json", false, "print the answer of GET /api/v1/fleet as it is")
	return c
}

// troubled is an exit code of 1 where the fleet has a query that somebody should look at.
func troubled(fleet []byte) error {
	var f struct {
		Queries []struct {
			State           health.State
			NotStartedAgain bool
		}
	}
	if err := json.Unmarshal(fleet, &f); err != nil {
		return err
	}
	for _, q := range f.Queries {
		if q.NotStartedAgain || q.State.NeedsSomebody() {
			return exitCode(1)
		}
	}
	return nil
}

func topCommand() *cobra.Command {
	var a asked
	c := &cobra.Command{
		Use:   "top",
		Short: "Show how the queries of a running server do, again every second",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return a.top(ctx, c.OutOrStdout())
		},
	}
	a.add(c)
	return c
}

// top prints the fleet every second over the last print, until ctx ends.
func (a *asked) top(ctx context.Context, out io.Writer) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		body, err := a.fleet(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		// Home, then clear what is below: the screen does not flicker.
		if _, err := io.WriteString(out, "\x1b[H\x1b[J"); err != nil {
			return err
		}
		if err := printFleet(out, body, widthOf(out)); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// fleet asks for GET /api/v1/fleet.
func (a *asked) fleet(ctx context.Context) ([]byte, error) {
	return a.ask(ctx, http.MethodGet, "/api/v1/fleet", nil)
}

// fleetText is what is printed of the fleet.
type fleetText struct {
	NowAtMs int64 `json:"nowAtMs"`
	Queries []struct {
		Name           string       `json:"name"`
		Application    string       `json:"application"`
		State          health.State `json:"state"`
		SinceAtMs      *int64       `json:"sinceAtMs"`
		Reason         string       `json:"reason"`
		FreshnessP95Ms *float64     `json:"freshnessP95Ms"`
		BacklogMs      *float64     `json:"backlogMs"`
		BacklogRows    *float64     `json:"backlogRows"`
		Arrival        *float64     `json:"arrivalRowsPerSecond"`
		Processed      *float64     `json:"processedRowsPerSecond"`
		Busy           *float64     `json:"busyRatio"`
		LastCommitAtMs *int64       `json:"lastCommitAtMs"`
	} `json:"queries"`
}

// statusColumns are the columns of the table; WHY, the last, is made as short as the
// terminal asks for.
var statusColumns = []string{
	"STATE", "FOR", "QUERY", "APPLICATION", "FRESHNESS P95", "BACKLOG", "UNREAD ROWS", "ARRIVING/S",
	"PROCESSED/S", "BUSY", "LAST BATCH AGO", "WHY",
}

// spared are the columns that a narrow terminal does without, the first first.
var spared = []string{
	"APPLICATION", "FRESHNESS P95", "LAST BATCH AGO", "BUSY", "UNREAD ROWS", "PROCESSED/S", "ARRIVING/S", "FOR",
}

// leastWhy is how many characters of WHY a terminal should have room for.
const leastWhy = 40

// printFleet prints a table, those that need a person first, in lines of at most width
// characters; 0 is no limit.
func printFleet(out io.Writer, body []byte, width int) error {
	var f fleetText
	if err := json.Unmarshal(body, &f); err != nil {
		return fmt.Errorf("the answer is no fleet: %w", err)
	}
	if len(f.Queries) == 0 {
		_, err := fmt.Fprintln(out, "No query has been started yet.")
		return err
	}
	rows := [][]string{slices.Clone(statusColumns)}
	for _, q := range f.Queries {
		cells := []string{
			q.State.Word(), since(f.NowAtMs, q.SinceAtMs), q.Name, q.Application, span(q.FreshnessP95Ms),
			span(q.BacklogMs),
			figure(q.BacklogRows), figure(q.Arrival), figure(q.Processed), percent(q.Busy),
			since(f.NowAtMs, q.LastCommitAtMs), q.Reason,
		}
		for i := range cells {
			cells[i] = oneLine(cells[i])
		}
		rows = append(rows, cells)
	}
	return printTable(out, fit(rows, width), width)
}

// fit leaves out columns until WHY has room.
func fit(rows [][]string, width int) [][]string {
	for _, name := range spared {
		before := 0
		for i := range len(rows[0]) - 1 {
			before += widest(rows, i) + 2
		}
		if width == 0 || before+min(leastWhy, widest(rows, len(rows[0])-1)) <= width {
			break
		}
		i := slices.Index(rows[0], name)
		for k := range rows {
			rows[k] = slices.Delete(rows[k], i, i+1)
		}
	}
	return rows
}

// widest is how many characters a column has.
func widest(rows [][]string, column int) int {
	most := 0
	for _, row := range rows {
		most = max(most, utf8.RuneCountInString(row[column]))
	}
	return most
}

func printTable(out io.Writer, rows [][]string, width int) error {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) {
		line = strings.TrimRight(line, " \n")
		if runes := []rune(line); width > 0 && len(runes) > width {
			line = string(runes[:width-1]) + "…"
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// widthOf is how many characters a line of a terminal has, 0 for what is none.
func widthOf(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// oneLine keeps texts of users from moving the cursor or breaking the table.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\u00a0' || r == '\u202f':
			return ' '
		case unicode.IsControl(r):
			return '?'
		default:
			return r
		}
	}, text)
	if text == "" {
		return "–"
	}
	return text
}

func figure(x *float64) string {
	if x == nil {
		return ""
	}
	return health.Figure(*x)
}

func percent(x *float64) string {
	if x == nil {
		return ""
	}
	return health.Percent(*x)
}

func span(ms *float64) string {
	if ms == nil {
		return ""
	}
	return health.Span(*ms / 1000)
}

func since(nowMs int64, atMs *int64) string {
	if atMs == nil {
		return ""
	}
	return health.Span(float64(max(0, nowMs-*atMs)) / 1000)
}
