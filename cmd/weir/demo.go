package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-dev/weir/internal/vfs"
)

func demoCommand() *cobra.Command {
	c := &cobra.Command{Use: "demo", Short: "Show what weir says of queries in trouble"}
	c.AddCommand(demoLagCommand())
	return c
}

func demoLagCommand() *cobra.Command {
	var f serverFlags
	var once bool
	c := &cobra.Command{
		Use:   "lag",
		Short: "Run five queries, four of which get into trouble after two minutes",
		Long: "Starts a server with five queries in a directory of its own, which is removed at the end: one\n" +
			"that keeps up, one that may read less than arrives, one with a burst, one whose sink takes\n" +
			"nothing any more, and one whose watermark stands still. Two minutes later the trouble begins;\n" +
			"the pages say which query has which, and this command prints it. Ctrl-C ends it.",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return demoLag(f, once) },
	}
	c.Flags().StringVar(&f.http, "http", "",
		"`HOST:PORT` for pages and API (default the first free port from 4040)")
	c.Flags().BoolVar(&once, "once", false,
		"end when every query was named; fail when that takes more than three minutes of trouble")
	return c
}

// demoLag runs the demonstration until a signal, or with once until it has come out.
func demoLag(f serverFlags, once bool) (err error) {
	dir, err := os.MkdirTemp("", "weir-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	screen := newScreen(io.Discard)
	defer screen.goOn()
	f.dir, f.python, f.console, f.logLevel = filepath.Join(dir, "data"), "off", screen, slog.LevelError
	s, err := startServer(f, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() {
		screen.goOn() // or the stop waits for the stalled query
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = errors.Join(err, s.stop(ctx))
	}()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	demo := &lagDemo{
		engine: s.engine, files: vfs.Unsynced(vfs.NewLocal()), dir: filepath.Join(dir, "arrivals"), screen: screen,
		out: os.Stdout,
	}
	fmt.Printf("Look at http://%s: five queries, all well for two minutes.\n", s.httpAddress())
	took, err := demo.run(ctx, once)
	switch {
	case err != nil || !once:
		return err
	case took == 0:
		return errors.New("it was ended before every query was named")
	case took > lagNamedWithin:
		return fmt.Errorf("it took %s of trouble until every query was named", took)
	}
	return nil
}
