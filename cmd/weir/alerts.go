package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/vfs"
)

// The files of alerts in a data directory: what users write, and what is kept for the
// next start.
const (
	alertsFile  = "alerts.yaml"
	alertsState = "alerts.state.json"
)

// alertsIn are the alerts of queries, with their files in a directory.
func alertsIn(dir string, queries *monitor.Registry, log *slog.Logger) alert.Env {
	return alert.Env{
		Registry: queries, Log: log, Files: vfs.NewLocal(), File: filepath.Join(dir, alertsFile),
		State: filepath.Join(dir, alertsState), Variable: os.LookupEnv, Server: hostName(),
	}
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "weir"
	}
	return name
}

// pagesAt is how people reach the pages.
func pagesAt(a *access, address string) string {
	if a.connect.TLS != nil {
		return "https://" + localhost(address)
	}
	return "http://" + localhost(address)
}

// reloadOnHangup reads the rules anew at each SIGHUP until ctx ends.
func reloadOnHangup(ctx context.Context, alerts *alert.Alerts, log *slog.Logger) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		if err := alerts.Reload(); err != nil {
			log.Error("the rules of alerts are those from before", "err", err)
			continue
		}
		log.Info("the rules of alerts were read anew")
	}
}
