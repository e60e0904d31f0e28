//go:build look

package ui

import (
	"flag"
	"net"
	"os"
	"os/signal"
	"testing"
)

var (
	serve = flag.String("serve", "127.0.0.1:0", "serve simulated queries at `HOST:PORT` until interrupted")
	fleet = flag.Int("fleet", 12, "how many queries to serve")
)

// TestServe serves pages to look at; it is no test.
func TestServe(t *testing.T) {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	l, err := net.Listen("tcp", *serve)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("serving at", l.Addr())
	serveOn(ctx, t, l, many(*fleet))
	<-ctx.Done()
}
