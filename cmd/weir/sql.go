package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-dev/weir"
)

// statement is one that is run from the command line, and how its rows are printed.
type statement struct {
	serverFlags
	remote string
	rows   int
	full   bool
	json   bool
	// vertical prints a line for each value.
	vertical bool
	dirNamed bool // --dir was given
}

func sqlCommand() *cobra.Command {
	var s statement
	c := &cobra.Command{
		Use:   "sql STATEMENT",
		Short: "Run a SQL statement on the running server, or on the engine in this process",
		Long: "Runs one statement on the server that holds --dir; when none runs, on an engine in this\n" +
			"process that works in --dir for as long. - reads the statement from standard input.",
		Example: "  weir sql 'SHOW TABLES IN main.default'\n" +
			"  weir sql --json \"SELECT id, name FROM main.default.t WHERE id > 7\"",
		Args: one("a statement, in quotation marks, or - to read it from standard input"),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := statementText(args[0], c.InOrStdin())
			if err != nil {
				return err
			}
			s.dirNamed = c.Flags().Changed("dir")
			return s.run(c.OutOrStdout(), func(ctx context.Context, at *weir.Session) (*weir.Frame, error) {
				return at.SQL(ctx, text)
			})
		},
	}
	c.Flags().StringVar(&s.dir, "dir", "weir-data", "work in the data directory `DIR`")
	c.Flags().StringVar(&s.remote, "remote", "", "ask the Spark Connect server at `sc://HOST:PORT` instead")
	c.Flags().StringVar(&s.token, "token-file", "", "show the bearer token in `FILE` to the server")
	c.Flags().StringArrayVar(&s.confs, "conf", nil,
		"a Spark setting, `KEY=VALUE`, for the engine in this process; may be repeated")
	s.addPrinting(c)
	return c
}

func (s *statement) addPrinting(c *cobra.Command) {
	c.Flags().IntVar(&s.rows, "rows", 100, "print at most so many rows as a table")
	c.Flags().BoolVar(&s.full, "full", false, "do not cut long values")
	c.Flags().BoolVar(&s.vertical, "vertical", false, "print a line for each value")
	c.Flags().BoolVar(&s.json, "json", false, "print every row as a JSON object on a line")
}

// largestStatement is how long a statement on standard input may be.
const largestStatement = 16 << 20

func statementText(argument string, in io.Reader) (string, error) {
	if argument != "-" {
		return argument, nil
	}
	data, err := io.ReadAll(io.LimitReader(in, largestStatement+1))
	if err == nil && len(data) > largestStatement {
		err = fmt.Errorf("the statement is longer than %d bytes", largestStatement)
	}
	return string(data), err
}

// shownWidth is to how many letters values in tables are cut.
const shownWidth = 100

// run prints what a frame has.
func (s *statement) run(out io.Writer, of func(context.Context, *weir.Session) (*weir.Frame, error)) error {
	if s.rows < 0 {
		return errors.New("--rows is a number of rows")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	session, end, err := s.session()
	if err != nil {
		return err
	}
	f, err := of(ctx, session)
	if err == nil {
		err = s.print(ctx, out, f)
	}
	leave, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if endErr := errors.Join(session.Close(leave), end(leave)); err == nil {
		err = endErr
	}
	if errors.Is(err, weir.ErrToken) {
		return fmt.Errorf("the server asks for its bearer token: give the file that it stands in, "+
			"--token-file FILE, as weir serve got it (%w)", err)
	}
	return err
}

func (s *statement) print(ctx context.Context, out io.Writer, f *weir.Frame) error {
	if f.Empty() {
		return nil
	}
	if s.json {
		for row, err := range f.JSON(ctx) {
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(out, row); err != nil {
				return err
			}
		}
		return nil
	}
	width := shownWidth
	if s.full {
		width = 0
	}
	table, err := f.Show(ctx, weir.Look{Rows: s.rows, Width: width, Vertical: s.vertical})
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, strings.TrimRight(table, "\n")+"\n")
	return err
}

// session is one of the server that was named, of the live server of the directory, or
// of a server of this process; end is to be called behind its own end.
func (s *statement) session() (at *weir.Session, end func(context.Context) error, err error) {
	none := func(context.Context) error { return nil }
	token, err := readToken(s.token)
	if err != nil {
		return nil, nil, err
	}
	live := liveServer(s.dir)
	if remote := cmp.Or(s.remote, live.remote()); remote != "" {
		if s.remote == "" && len(s.confs) > 0 {
			return nil, nil, fmt.Errorf("--conf cannot take effect: the server of %s runs already", s.dir)
		}
		at, err := weir.Connect(remote)
		if err == nil && token != "" {
			at = at.WithToken(token)
		}
		if known := live.trust(); err == nil && s.remote == "" && known != nil {
			at = at.WithTLS(known)
		}
		return at, none, err
	}
	if _, err := os.Stat(s.dir); s.dirNamed && errors.Is(err, os.ErrNotExist) {
		return nil, nil, fmt.Errorf("there is no data directory %s: weir serve and weir run make one", s.dir)
	}
	f := s.serverFlags
	f.http, f.python, f.token = "127.0.0.1:0", cmp.Or(f.python, "off"), ""
	f.logLevel, f.grace = slog.LevelError, time.Second
	server, err := startServer(f, grpcFree)
	if err != nil {
		return nil, nil, err
	}
	at, err = weir.Connect("sc://" + localhost(server.grpcAddress()))
	return at, server.stop, err
}

// liveServer is where the server of a data directory listens, nowhere when none does.
func liveServer(dir string) addresses {
	data, err := os.ReadFile(filepath.Join(dir, addressFile))
	var a addresses
	if err != nil || json.Unmarshal(data, &a) != nil || a.GRPC == "" {
		return addresses{}
	}
	// The file of a server that was killed is still there.
	conn, err := net.DialTimeout("tcp", a.GRPC, time.Second)
	if err != nil {
		return addresses{}
	}
	conn.Close()
	return a
}

// remote is where programs find the server, "" for nowhere.
func (at *addresses) remote() string {
	switch {
	case at.GRPC == "":
		return ""
	case at.CertSHA256 != "":
		return "sc://" + reachable(localhost(at.GRPC)) + "/;use_ssl=true"
	}
	return "sc://" + reachable(localhost(at.GRPC))
}
