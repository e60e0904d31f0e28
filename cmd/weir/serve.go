package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// serverFlags are the flags that every command with a server has.
type serverFlags struct {
	Dir  string   `help:"Data directory: catalogs, tables, volumes." default:"./weir-data" type:"path"`
	Root string   `help:"Confine every path of every program to this directory." type:"path"`
	Conf []string `help:"A Spark setting for every session; may be given several times." placeholder:"KEY=VALUE" sep:"none"`

	Grace time.Duration `help:"How long running batches may take to finish at the end." default:"10s"`

	AllowOtherUsers bool   `help:"Admit every user of this machine, not only the one who started weir."`
	PrivateHTTP     bool   `help:"Show pages and API only to the user who started weir." name:"private-http"`
	TokenFile       string `help:"Ask clients for the bearer token in this file." type:"existingfile" placeholder:"FILE"`
	TLSCert         string `help:"Certificate chain, PEM." type:"existingfile" placeholder:"FILE" name:"tls-cert"`
	TLSKey          string `help:"Private key, PEM." type:"existingfile" placeholder:"FILE" name:"tls-key"`
	Insecure        bool   `help:"Listen beyond this machine without token and TLS, as inside a container."`
	LogLevel        string `help:"Least level that is logged." default:"info" enum:"debug,info,warn,error"`
}

type serveCommand struct {
	serverFlags
	GRPC string `help:"Address for Spark Connect; port 0 takes a free one." default:"127.0.0.1:15002" name:"grpc" placeholder:"HOST:PORT"`
	HTTP string `help:"Address for pages and API; the next free port is taken unless one is given here." placeholder:"HOST:PORT" name:"http"`
}

// Run serves until SIGINT or SIGTERM; a second signal ends at once.
func (c *serveCommand) Run() error {
	s, err := startServer(c.serverFlags, c.GRPC, c.HTTP)
	if err != nil {
		return err
	}
	fmt.Printf("weir ready grpc=%s http=%s\n", s.grpcAddress(), s.httpAddress())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	select {
	case sig := <-signals:
		s.log.Info("ending", "signal", sig.String(), "grace", c.Grace)
	case err = <-s.failed:
		s.log.Error("a listener failed", "error", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Grace)
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
