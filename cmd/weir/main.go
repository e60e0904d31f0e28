package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

// version is set by the linker for released binaries.
var version = "dev"

// commands are what weir can be told to do.
type commands struct {
	Serve   serveCommand   `cmd:"" help:"Answer Spark Connect clients until told to stop."`
	Run     runCommand     `cmd:"" help:"Run a PySpark program, on a server of its own or on the one that is running."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

// exitCode ends the process with the code of the program that weir ran.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	var c commands
	ctx := kong.Parse(&c, kong.Name("weir"), kong.UsageOnError(),
		kong.Description("Structured Streaming in one Go binary, with its monitoring built in."))
	err := ctx.Run()
	var code exitCode
	if errors.As(err, &code) {
		os.Exit(int(code))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "weir %s: %v\n", ctx.Selected().Name, err)
		os.Exit(1)
	}
}

type versionCommand struct{}

// Run prints the version and the Spark version that clients are told.
func (versionCommand) Run() error {
	fmt.Printf("weir %s, compatible with Apache Spark %s\n", version, sparkVersion)
	return nil
}
