package main

import (
	"strconv"
	"time"

	"github.com/weir-dev/weir/internal/history"
	"github.com/weir-dev/weir/internal/monitor/alert"
	"github.com/weir-dev/weir/internal/ui"
	"github.com/weir-dev/weir/internal/vfs"
)

// startHistory begins to keep what queries do, unless it may have no bytes.
func (s *server) startHistory() error {
	bytes := s.engine.Number("weir.history.maxBytes")
	if bytes == 0 {
		return nil
	}
	s.history = history.Start(history.Options{
		Registry: s.engine.Monitor(), Files: vfs.NewLocal(), Dir: s.engine.HistoryDir(), Bytes: bytes, Log: s.log,
		Keep: time.Duration(s.engine.Number("weir.history.retention")) * time.Millisecond,
	})
	s.history.Alerts(func() []alert.View { return s.alerts.Overview().Alerts })
	if err := s.engine.ShowHistory(s.history); err != nil {
		s.history.Close()
		return err
	}
	return nil
}

func (s *server) historySettings() []ui.Setting {
	return historySettings(s.history, s.engine.HistoryDir())
}

// historySettings is what the environment page says of a history, which may be off.
func historySettings(h *history.Store, dir string) []ui.Setting {
	if h == nil {
		return []ui.Setting{{Name: "History", Value: "off", Note: "weir.history.maxBytes is 0"}}
	}
	u := h.Use()
	committed := "not yet"
	if !u.CommittedAt.IsZero() {
		committed = u.CommittedAt.UTC().Format(time.RFC3339)
	}
	problem := u.Problem
	if problem == "" {
		problem = "none"
	}
	return []ui.Setting{
		{Name: "Tables", Value: "system.streaming", Note: dir},
		{Name: "Bytes", Value: strconv.FormatInt(u.Bytes, 10), Note: "of data files"},
		{Name: "Last commit", Value: committed}, {Name: "Rows dropped", Value: strconv.FormatInt(u.Dropped, 10)},
		{Name: "Problem", Value: problem},
	}
}
