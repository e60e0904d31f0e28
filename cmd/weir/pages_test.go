package main

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/weir-dev/weir/internal/monitor"
	"github.com/weir-dev/weir/internal/ui"
)

// A stream of events has no end of its own: without the server's help a shutdown
// would wait for it as long as it may.
func TestShutdownEndsStreams(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pages := newPages(&access{}, monitor.NewRegistry(), ui.Options{}, slog.New(slog.DiscardHandler))
	served := make(chan error, 1)
	go func() { served <- pages.Serve(l) }()
	answer, err := http.Get("http://" + l.Addr().String() + "/api/v1/stream?view=fleet")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := bufio.NewReader(answer.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := pages.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}
