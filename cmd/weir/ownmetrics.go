package main

import (
	"math"
	"os"
	"runtime"
	"time"

	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/monitor/report"
)

// ownMetrics are the numbers of the server itself. h is nil when the history is off.
func ownMetrics(started time.Time, h *history.Store, a *alert.Alerts, r *report.Reporters) []report.Own {
	out := []report.Own{
		{Name: "weir_build", Kind: "info", Help: "What runs here.", Value: 1, Labels: []report.OwnLabel{
			{Name: "version", Value: version}, {Name: "goversion", Value: runtime.Version()}}},
		{Name: "process_resident_memory_bytes", Kind: "gauge", Unit: "bytes",
			Help:  "Memory that the machine holds for the server, without its Python workers.",
			Value: residentBytes("self")},
		{Name: "process_cpu_seconds", Kind: "counter", Unit: "seconds",
			Help: "Processor time of the server and of its workers that have ended.", Value: ownCPU()},
		{Name: "process_open_fds", Kind: "gauge", Help: "Open files and sockets.", Value: openFiles()},
		{Name: "process_start_time_seconds", Kind: "gauge", Unit: "seconds", Help: "When the server was started.",
			Value: float64(started.UnixMilli()) / 1000},
		{Name: "weir_reports_dropped", Kind: "counter", Help: "Reports of metrics that could not be sent.",
			Value: float64(r.Dropped())},
	}
	if h != nil {
		u := h.Use()
		out = append(out,
			report.Own{Name: "weir_history_rows_dropped", Kind: "counter",
				Help: "Rows of the history that could not be kept.", Value: float64(u.Dropped)},
			report.Own{Name: "weir_history_bytes", Kind: "gauge", Unit: "bytes",
				Help: "Data files of the history.", Value: float64(u.Bytes)})
	}
	return append(out, notifications(a)...)
}

// notifications are the messages of alerts, by notifier.
func notifications(a *alert.Alerts) []report.Own {
	list := a.Overview().Notifiers
	var out []report.Own
	for _, c := range []struct {
		name, help string
		of         func(n *alert.NotifierView) int64
	}{
		{"weir_notifications_sent", "Messages of alerts that were taken.",
			func(n *alert.NotifierView) int64 { return n.Sent }},
		{"weir_notifications_failed", "Messages of alerts that were given up.",
			func(n *alert.NotifierView) int64 { return n.Failed }},
		{"weir_notifications_dropped", "Messages of alerts that were too many to wait.",
			func(n *alert.NotifierView) int64 { return n.Dropped }},
	} {
		for i := range list {
			out = append(out, report.Own{Name: c.name, Kind: "counter", Help: c.help,
				Labels: []report.OwnLabel{{Name: "notifier", Value: list[i].Name}}, Value: float64(c.of(&list[i]))})
		}
	}
	return out
}

// openFiles is how many files and sockets are open, unknown off Linux.
func openFiles() float64 {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return math.NaN()
	}
	return float64(len(list) - 1) // the directory itself
}
