package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-dev/weir/internal/plan"
)

// version is set by the linker for released binaries.
var version = "dev"

// built is the version, or the commit that a binary was built from.
var built = builtFrom(version)

func builtFrom(version string) string {
	info, ok := debug.ReadBuildInfo()
	if version != "dev" || !ok {
		return version
	}
	return commitOf(version, info.Settings)
}

func commitOf(version string, settings []debug.BuildSetting) string {
	const short = 12
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= short:
			version = "dev-" + s.Value[:short]
		case s.Key == "vcs.modified" && s.Value == "true" && version != "dev":
			version += "-dirty"
		}
	}
	return version
}

// exitCode ends the process with the code of the program that weir ran.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	c, err := rootCommand().ExecuteC()
	var code exitCode
	if errors.As(err, &code) {
		os.Exit(int(code))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", c.CommandPath(), err)
		os.Exit(1)
	}
}

// rootCommand is everything that weir can be told to do.
func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "weir",
		Short:         "Structured Streaming in one Go binary, with its monitoring built in.",
		Version:       about(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := c.Usage(); err != nil {
				return err
			}
			return exitCode(2)
		},
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if !errors.As(err, &unknown) {
			return fmt.Errorf("%w; %s --help lists what there is", err, c.CommandPath())
		}
		var flags []string
		c.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		return fmt.Errorf("%w; the nearest is --%s, and %s --help lists what there is",
			err, plan.Nearest(unknown.GetSpecifiedName(), flags), c.CommandPath())
	})
	root.AddCommand(serveCommand(), runCommand(), fleetCommand(), statusCommand(), topCommand(), stopCommand(),
		demoCommand(), sqlCommand(), inspectCommand(), checkpointCommand(), &cobra.Command{
			Use:   "version",
			Short: "Print the version",
			Args:  cobra.NoArgs,
			Run:   func(*cobra.Command, []string) { fmt.Println("weir", about()) },
		})
	return root
}

// one takes a single argument, and says what it is where there is none.
func one(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return fmt.Errorf("name %s; %s --help tells more", what, c.CommandPath())
		case len(args) > 1:
			return fmt.Errorf("%q is one argument too many: name %s; %s --help tells more",
				args[1], what, c.CommandPath())
		}
		return nil
	}
}

// about is the version with the Spark version that clients are told.
func about() string {
	return fmt.Sprintf("%s, compatible with Apache Spark %s", built, sparkVersion)
}
