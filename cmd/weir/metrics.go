package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/monitor/report"
	"github.com/weir-dev/weir/internal/vfs"
)

// metricsFileKey is where Spark finds its metrics.properties.
const metricsFileKey = "spark.metrics.conf"

// startReporters starts the metric sinks that settings of the server name.
func startReporters(queries *monitor.Registry, application string, confs map[string]string,
	log *slog.Logger) (
	*report.Reporters, error) {
	properties := ""
	if file := confs[metricsFileKey]; file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", metricsFileKey, err)
		}
		properties = string(data)
	}
	settings, err := report.Settings(confs, properties)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metricsFileKey, err)
	}
	return report.Start(&report.Env{
		Registry: queries, Application: application, Files: vfs.NewLocal(), Console: os.Stdout, Log: log,
	}, settings)
}
