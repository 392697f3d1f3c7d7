package kit

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/internal/text/hint"
)

// A Build identifies this program.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Dirty    bool   `json:"dirty,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// stamped is the version that make dist links in; see internal/dev/dist.
var stamped string

// Read is this program's build.
func Read() Build {
	b := Build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	if stamped != "" {
		b.Version = stamped
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	return b
}

// Line is the build of a program in a line.
func (b Build) Line(program string) string {
	return strings.Join([]string{program, b.Version, b.Go, b.Platform}, " ")
}

// New is adroit version.
func New(e *Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  adroit version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return Print(e.Out, asJSON, Read(), func(w io.Writer, b Build) { fmt.Fprintln(w, b.Line(hint.Program())) })
		},
	}
	JSONFlag(cmd, &asJSON)
	return cmd
}
