package report

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/weir-dev/weir/internal/vfs"
)

var consoleSink = kind{
	class: "ConsoleSink", doc: "Gauges on standard output.",
	keys: map[string]string{"period": "10", "unit": "seconds"}, spell: plainLine,
	open: func(e *Env, _ options) (reporter, error) { return &console{e}, nil },
}

type console struct{ *Env }

func (c *console) report(_ context.Context, now time.Time, gauges []Gauge) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n\n-- Gauges %s\n", now.Format("1/2/06 3:04:05 PM"), strings.Repeat("=", 62),
		strings.Repeat("-", 70))
	for _, g := range gauges {
		fmt.Fprintf(&b, "%s\n             value = %s\n", plainLine(g.Name), appendGauge(nil, g))
	}
	b.WriteString("\n\n")
	_, err := c.Console.Write([]byte(b.String()))
	return err
}

func (c *console) close() error { return nil }

// plainLine keeps a name on its line.
func plainLine(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, name)
}

var slf4jSink = kind{
	class: "Slf4jSink", doc: "Gauges in the log.",
	keys: map[string]string{"period": "10", "unit": "seconds"}, spell: Plain,
	open: func(e *Env, _ options) (reporter, error) { return &logged{e}, nil },
}

type logged struct{ *Env }

func (l *logged) report(_ context.Context, _ time.Time, gauges []Gauge) error {
	for _, g := range gauges {
		l.Log.Info("metric", "type", "GAUGE", "name", g.Name, "value", g.Value)
	}
	return nil
}

func (l *logged) close() error { return nil }

var csvSink = kind{
	class: "CsvSink", doc: "A CSV file for each gauge.",
	keys: map[string]string{"period": "10", "unit": "seconds", "directory": "-"},
	spell: func(name string) string {
		name = word(name, ".-")
		return name[:min(len(name), maxCSVName)]
	},
	open: func(e *Env, o options) (reporter, error) {
		if err := vfs.MkdirDurable(e.Files, path.Clean(o["directory"])); err != nil {
			return nil, err
		}
		return &csvFiles{e, path.Clean(o["directory"]), map[string]bool{}}, nil
	},
}

type csvFiles struct {
	*Env
	dir  string
	made map[string]bool
}

// maxCSVName is how long a query's name may be in that of a file, which file systems limit.
const maxCSVName = 120

func (c *csvFiles) report(_ context.Context, now time.Time, gauges []Gauge) error {
	var failed error
	for _, g := range gauges {
		file := path.Join(c.dir, word(g.Name, ".-")+".csv")
		line := strconv.FormatInt(now.Unix(), 10) + "," + string(appendGauge(nil, g)) + "\n"
		if !c.made[file] {
			if _, err := c.Files.Stat(file); errors.Is(err, fs.ErrNotExist) {
				line = "t,value\n" + line
			}
			c.made[file] = true
		}
		if err := appendFile(c.Files, file, line); err != nil {
			failed = fmt.Errorf("write %s: %w", file, err)
		}
	}
	return failed
}

func (c *csvFiles) close() error { return nil }

func appendFile(files vfs.FS, name, text string) error {
	w, err := files.Append(name)
	if err != nil {
		return err
	}
	_, err = w.Write([]byte(text))
	return errors.Join(err, w.Close())
}
