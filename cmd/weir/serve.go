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
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-dev/weir/internal/vfs"
)

// serverFlags are the flags that every command with a server has.
type serverFlags struct {
	dir, root, http          string
	confs                    []string // KEY=VALUE
	properties               string   // a file with more of them
	python                   string   // a pyworker.Mode
	grace                    time.Duration
	allowOthers, privateHTTP bool
	token, tlsCert, tlsKey   string // files
	insecure                 bool
	logLevel                 slog.Level

	set     *pflag.FlagSet // they are all in it; nil for a server that has none
	user    userPython     // of weir run
	console io.Writer      // where console sinks print; nil: standard output
}

func (f *serverFlags) add(set *pflag.FlagSet) {
	f.set = set
	set.StringVar(&f.dir, "dir", "weir-data", "keep catalogs, tables and volumes in `DIR`")
	set.StringVar(&f.root, "root", "",
		"confine every path of every program to `DIR`; Python functions open what they like (see --python)")
	set.StringVar(&f.http, "http", "", "`HOST:PORT` for pages and API (default the first free port from 4040)")
	set.StringArrayVar(&f.confs, "conf", nil, "a Spark setting, `KEY=VALUE`, for every session; may be repeated")
	set.StringVar(&f.properties, "properties-file", "", "the same from `FILE`, such as a spark-defaults.conf")
	set.StringVar(&f.python, "python", "trusted",
		"`MODE` of Python functions of programs: trusted (they run as you) or off")
	set.DurationVar(&f.grace, "grace", 10*time.Second, "how long running batches may take to finish at the end")
	set.BoolVar(&f.allowOthers, "allow-other-users", false,
		"admit every user of this machine, not only the one who started weir")
	set.BoolVar(&f.privateHTTP, "private-http", false, "show pages and API only to the user who started weir")
	set.StringVar(&f.token, "token-file", "", "ask clients for the bearer token in `FILE`")
	set.StringVar(&f.tlsCert, "tls-cert", "", "certificate chain, a PEM `FILE`")
	set.StringVar(&f.tlsKey, "tls-key", "", "private key, a PEM `FILE`")
	set.BoolVar(&f.insecure, "insecure", false,
		"listen beyond this machine without token and TLS, as inside a container")
	set.TextVar(&f.logLevel, "log-level", slog.LevelInfo,
		"least `LEVEL` that is logged: debug, info, warn or error")
}

// check refuses values that would quietly mean another thing: an unset variable of a
// shell as a directory means the current one, or no confinement at all.
func (f *serverFlags) check() (err error) {
	if f.grace < 0 {
		return fmt.Errorf("--grace %s: a time is not negative", f.grace)
	}
	if f.set == nil {
		return nil
	}
	f.set.Visit(func(given *pflag.Flag) {
		if given.Value.Type() == "string" && given.Value.String() == "" && err == nil {
			err = fmt.Errorf("--%s is empty; leave it out for the default, %q", given.Name, given.DefValue)
		}
	})
	return err
}

// absolute makes the directories independent of where the process goes.
func (f *serverFlags) absolute() error {
	for _, dir := range []*string{&f.dir, &f.root} {
		if *dir == "" {
			continue
		}
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return err
		}
		*dir = abs
	}
	if f.root != "" && f.dir != f.root && !strings.HasPrefix(f.dir, strings.TrimSuffix(f.root, "/")+"/") {
		return fmt.Errorf("--root %s does not hold --dir %s, where the tables are: no program could use them",
			f.root, f.dir)
	}
	return nil
}

func serveCommand() *cobra.Command {
	var f serverFlags
	var grpc string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Answer Spark Connect clients until told to stop",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return serve(f, grpc) },
	}
	c.Flags().StringVar(&grpc, "grpc", grpcDefault, "`HOST:PORT` for Spark Connect; port 0 takes a free one")
	f.add(c.Flags())
	return c
}

// serve serves until SIGINT or SIGTERM; a second signal ends at once.
func serve(f serverFlags, grpc string) error {
	s, err := startServer(f, grpc)
	var locked *vfs.LockedError
	if errors.As(err, &locked) && locked.PID != 0 {
		return fmt.Errorf("%w; weir run uses that server, kill -INT %d ends it, --dir names another directory",
			err, locked.PID)
	}
	if err != nil {
		return err
	}
	fmt.Printf("weir ready grpc=%s http=%s\n", s.grpcAddress(), s.httpAddress())
	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()
	go reloadOnHangup(watching, s.alerts, s.log)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	select {
	case sig := <-signals:
		s.log.Info("ending", "signal", sig.String(), "grace", f.grace)
	case err = <-s.failed:
		s.log.Error("a listener failed", "error", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), f.grace)
	defer cancel()
	go func() {
		<-signals
		cancel()
	}()
	if stopErr := s.stop(ctx); err == nil {
		err = stopErr
	}
	return err
}
