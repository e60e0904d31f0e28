package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/monitor/eventlog"
	"github.com/weir-dev/weir/internal/monitor/report"
	"github.com/weir-dev/weir/internal/ui"
	"github.com/weir-dev/weir/internal/vfs"
)

// fleetFlags are those of weir fleet.
type fleetFlags struct {
	serverFlags
	rules string
	push  bool
	logs  []string // directories
}

func fleetCommand() *cobra.Command {
	var f fleetFlags
	c := &cobra.Command{
		Use:   "fleet DIR...",
		Short: "Watch Apache Spark applications by the event logs in directories",
		Long: "Reads the event logs that Apache Spark applications wrote and write into the directories\n" +
			"(spark.eventLog.dir), finished or running, takes the progress that applications push, and\n" +
			"shows their streaming queries as weir's own.",
		Args: func(_ *cobra.Command, dirs []string) error {
			if len(dirs) == 0 && !f.push {
				return errors.New("name the directories that hold event logs (spark.eventLog.dir), " +
					"or give --push to show only what applications push; weir fleet --help tells more")
			}
			return nil
		},
		RunE: func(c *cobra.Command, dirs []string) error {
			f.logs, f.set = dirs, c.Flags()
			return watchFleet(&f)
		},
	}
	c.Flags().StringVar(&f.dir, "dir", "weir-fleet", "keep history and positions in `DIR`")
	c.Flags().StringArrayVar(&f.confs, "conf", nil,
		"a setting of history or metrics, weir.history.… or weir.metrics.…, `KEY=VALUE`; may be repeated")
	c.Flags().BoolVar(&f.push, "push", false,
		"no directory has to be named: only what applications push is shown")
	c.Flags().StringVar(&f.http, "http", "",
		"`HOST:PORT` for pages and API (default the first free port from 4040)")
	c.Flags().StringVar(&f.rules, "alerts", "",
		"`FILE` with rules of alerts and who is told (default the shipped rules, and nobody)")
	c.Flags().BoolVar(&f.privateHTTP, "private-http", false,
		"show pages and API only to the user who started weir")
	c.Flags().StringVar(&f.token, "token-file", "", "ask for the bearer token in `FILE`")
	c.Flags().StringVar(&f.tlsCert, "tls-cert", "", "certificate chain, a PEM `FILE`")
	c.Flags().StringVar(&f.tlsKey, "tls-key", "", "private key, a PEM `FILE`")
	c.Flags().BoolVar(&f.insecure, "insecure", false,
		"listen beyond this machine without token and TLS, as inside a container")
	c.Flags().TextVar(&f.logLevel, "log-level", slog.LevelInfo,
		"least `LEVEL` that is logged: debug, info, warn or error")
	return c
}

// fleetAlerts are the alerts of a fleet, with the rules of a file; "" for the shipped ones.
func fleetAlerts(file string, queries *monitor.Registry, link string, log *slog.Logger) (*alert.Alerts,
	error) {
	env := alertsIn("", queries, log)
	env.File, env.State, env.Link = "", "", link
	if file != "" {
		abs, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(abs); err != nil {
			return nil, err
		}
		env.File, env.State = abs, abs+".state.json"
	}
	return alert.Start(env)
}

// fleet is a running weir fleet. No engine is started.
type fleet struct {
	log       *slog.Logger
	queries   *monitor.Registry
	records   *fleetRecords
	logs      *eventlog.Fleet
	alerts    *alert.Alerts
	reporters *report.Reporters
	pages     *http.Server
	listener  net.Listener
	failed    chan error
}

// watchFleet follows event logs and serves their pages until SIGINT or SIGTERM.
func watchFleet(f *fleetFlags) error {
	if err := errors.Join(f.check(), f.absolute()); err != nil {
		return err
	}
	for i, dir := range f.logs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		f.logs[i] = abs
	}
	one := &fleet{log: newLogger(f.logLevel), queries: monitor.NewRegistry(), failed: make(chan error, 1)}
	defer one.close()
	if err := one.start(f); err != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()
	go reloadOnHangup(watching, one.alerts, one.log)
	fmt.Printf("weir fleet ready http=%s\n", one.listener.Addr())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	select {
	case <-signals:
	case err := <-one.failed:
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return one.pages.Shutdown(ctx)
}

func (one *fleet) start(f *fleetFlags) error {
	confs, err := fleetConfs(f.confs)
	if err != nil {
		return err
	}
	a, err := newAccess(f.serverFlags, "", one.log)
	if err != nil {
		return err
	}
	// Before the port: who holds the directory is what to say.
	if one.records, err = openRecords(f.dir, confs, one.log); err != nil {
		return err
	}
	if one.listener, err = listenHTTP(f.http); err != nil {
		return err
	}
	link := pagesAt(a, one.listener.Addr().String())
	if one.alerts, err = fleetAlerts(f.rules, one.queries, link, one.log); err != nil {
		return err
	}
	one.records.follow(one)
	one.logs, err = eventlog.Follow(eventlog.Options{
		Registry: one.queries, Files: vfs.NewLocal(), Dirs: f.logs, Log: one.log, Positions: one.records.positions,
	})
	if err != nil {
		return err
	}
	one.records.reading(one.logs)
	if one.reporters, err = startReporters(one.queries, "weir-fleet", confs, one.log); err != nil {
		return err
	}
	started := time.Now()
	o := ui.Options{
		Application: "weir-fleet", Alerts: one.alerts,
		Own: func() []report.Own {
			return ownMetrics(started, one.records.history, one.alerts, one.reporters)
		},
		Environment: func() []ui.Group { return one.environment(f, a) },
		Push:        func(body []byte) (eventlog.Pushed, error) { return one.logs.Push(body, time.Now()) },
	}
	if one.records.history != nil {
		o.Past = one.records.history
	}
	one.pages = newPages(a, one.queries, o, one.log)
	go func() {
		if err := one.pages.Serve(a.overTLS(one.listener)); !errors.Is(err, http.ErrServerClosed) {
			one.failed <- err
		}
	}()
	return nil
}

// environment is what the page of that name shows of a fleet.
func (one *fleet) environment(f *fleetFlags, a *access) []ui.Group {
	who := "every user of this machine"
	if a.private {
		who = "the user who started weir"
	} else if a.connect.Token != "" {
		who = "the user who started weir, and whoever has the token"
	}
	settings := []ui.Setting{
		{Name: "weir", Value: built}, {Name: "Process", Value: strconv.Itoa(os.Getpid())},
		{Name: "Pages and API", Value: one.listener.Addr().String(), Note: "for " + who},
		{Name: "TLS", Value: onOff(a.connect.TLS != nil)}, {Name: "Log level", Value: f.logLevel.String()},
	}
	for _, dir := range f.logs {
		settings = append(settings, ui.Setting{Name: "Event logs", Value: dir})
	}
	return []ui.Group{{Title: "Server", Settings: settings},
		{Title: "History", Settings: historySettings(one.records.history, one.records.historyDir())}}
}

// close ends what was started, in the order that loses nothing: first what tells, then
// what hears.
func (one *fleet) close() {
	if one.listener != nil {
		one.listener.Close()
	}
	if one.logs != nil {
		one.logs.Close()
	}
	if one.records != nil {
		one.records.close()
	}
	if one.alerts != nil {
		one.alerts.Close()
	}
	if one.reporters != nil {
		one.reporters.Close()
	}
}
