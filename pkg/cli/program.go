package cli

import (
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/tools"

	"io"

	"github.com/spf13/cobra"
)

// A Program is adroit with a list of tools. Nil streams are empty; a nil
// Getenv is os.Getenv.
type Program struct {
	// Name is what people type: commands that are printed begin with it. "" is adroit.
	Name  string
	Tools []tools.Tool
	// Workflows are the program's own, beside those that ship; agents name them.
	Workflows []flow.Workflow
	// Commands are the program's own, beside those of adroit: an error of one is printed
	// as theirs are and exits with 1, or with 2 where it is about the arguments.
	Commands []*cobra.Command
	// Through wraps the client that commands use. Nil: they use the runtime.
	Through func(adroit.Client) adroit.Client
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Getenv  func(string) string
}
