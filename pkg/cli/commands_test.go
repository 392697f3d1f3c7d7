package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Commands of a program have the exit codes and the words of adroit's own.
func TestCommandsOfAProgram(t *testing.T) {
	own := func() []*cobra.Command {
		return []*cobra.Command{{Use: "greet NAME", Short: "Greet somebody", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "nobody" {
				return errors.New("nobody is there")
			}
			return nil
		}}}
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"greet Ada", 0, ""},
		{"greet nobody", 1, "adroit: error: nobody is there\n"},
		{"greet", 2, "usage: adroit greet NAME"},
		{"greet --loud Ada", 2, "adroit greet --help lists the flags"},
		{"gret Ada", 2, "did you mean \"adroit greet\"?"},
		{"jobs show", 2, "usage: adroit jobs show"},
	} {
		var out, errs strings.Builder
		home := t.TempDir()
		code := Program{Commands: own(), Stdout: &out, Stderr: &errs, Getenv: func(name string) string {
			return map[string]string{"HOME": home, "ADROIT_HOME": home}[name]
		}}.Run(context.Background(), strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%s: exit code %d, want %d:\n%s%s", c.args, code, c.code, out.String(), errs.String())
		}
	}
}
