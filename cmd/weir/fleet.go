package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/monitor/eventlog"
	"github.com/weir-dev/weir/internal/ui"
	"github.com/weir-dev/weir/internal/vfs"
)

func fleetCommand() *cobra.Command {
	var f serverFlags
	var rules string
	c := &cobra.Command{
		Use:   "fleet DIR...",
		Short: "Watch Apache Spark applications by the event logs in directories",
		Long: "Reads the event logs that Apache Spark applications wrote and write into the directories\n" +
			"(spark.eventLog.dir), finished or running, and shows their streaming queries as weir's own.",
		Args: func(_ *cobra.Command, dirs []string) error {
			if len(dirs) == 0 {
				return errors.New("name the directories that hold event logs (spark.eventLog.dir)")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, dirs []string) error { return watchFleet(f, rules, dirs) },
	}
	c.Flags().StringVar(&f.http, "http", "",
		"`HOST:PORT` for pages and API (default the first free port from 4040)")
	c.Flags().StringVar(&rules, "alerts", "",
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

// watchFleet follows event logs and serves their pages until SIGINT or SIGTERM. No
// engine is started.
func watchFleet(f serverFlags, rules string, dirs []string) error {
	log := newLogger(f.logLevel)
	for i, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		dirs[i] = abs
	}
	a, err := newAccess(f, "", log)
	if err != nil {
		return err
	}
	listener, err := listenHTTP(f.http)
	if err != nil {
		return err
	}
	defer listener.Close()
	queries := monitor.NewRegistry()
	fleet, err := eventlog.Follow(queries, vfs.NewLocal(), dirs, log)
	if err != nil {
		return err
	}
	defer fleet.Close()
	alerts, err := fleetAlerts(rules, queries, pagesAt(a, listener.Addr().String()), log)
	if err != nil {
		return err
	}
	defer alerts.Close()
	watching, stopWatching := context.WithCancel(context.Background())
	defer stopWatching()
	go reloadOnHangup(watching, alerts, log)
	pages := newPages(a, queries, ui.Options{Application: "weir-fleet", Alerts: alerts}, log)
	failed := make(chan error, 1)
	go func() { failed <- pages.Serve(a.overTLS(listener)) }()
	fmt.Printf("weir fleet ready http=%s\n", listener.Addr())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	select {
	case <-signals:
	case err := <-failed:
		if !errors.Is(err, http.ErrServerClosed) {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return pages.Shutdown(ctx)
}
