package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/parts"
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

// No numeric flag of any command takes what is no number, negative, or nothing.
func TestNumericFlags(t *testing.T) {
	seen := 0
	var visit func(args []string)
	visit = func(args []string) {
		find := func() (*cobra.Command, *pflag.FlagSet) {
			cmd, _, err := Program{Parts: parts.All()}.Command().Find(args)
			if err != nil {
				t.Fatal(err)
			}
			return cmd, cmd.Flags()
		}
		cmd, flags := find()
		for _, c := range cmd.Commands() {
			visit(append(slices.Clone(args), c.Name()))
		}
		flags.VisitAll(func(f *pflag.Flag) {
			values := []string{"", "x", "-1", "1e999", "99999999999999999999"}
			switch f.Value.Type() {
			case "float64":
				values = []string{"", "x", "NaN", "Inf", "-inf", "-0.5", "0", "1e999"}
			case "duration":
				values = []string{"", "5", "-5s", "2x", "0", "0s", "NaN", "9999999999h"}
			case "int", "int64":
				if !kit.ZeroAllowed(f) {
					values = append(values, "0")
				}
			default:
				return
			}
			for _, value := range values {
				if kit.ZeroAllowed(f) && strings.HasPrefix(value, "0") {
					continue
				}
				seen++
				cmd, flags := find()
				err := flags.Set(f.Name, value)
				if err == nil {
					t.Errorf("%s --%s=%s is taken", cmd.CommandPath(), f.Name, value)
					continue
				}
				if err = flagFault(cmd, err); !strings.HasPrefix(err.Error(), "--"+f.Name+" is ") || strings.Contains(err.Error(), "pars") || exitOf(err).Hint == "" {
					t.Errorf("%s --%s=%s: %v", cmd.CommandPath(), f.Name, value, err)
				}
			}
		})
	}
	visit(nil)
	if seen < 200 {
		t.Errorf("only %d values were tried", seen)
	}
}

// No flag of any command takes an empty value, which a script gives with a variable that
// is not set, and which would mean all, none or the default; but for these, whose empty
// value says something.
func TestEmptyFlags(t *testing.T) {
	means := []string{
		"adroit answer deny --because",     // no reason, as without it
		"adroit mcp add --workspace",       // with --replace, no more access to the job's directory
		"adroit agents memory edit --file", // no file any more
	}
	var taken []string
	seen := 0
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		try := func(f *pflag.Flag) {
			if slices.Contains([]string{"bool", "int", "int64", "float64", "duration", "json"}, f.Value.Type()) {
				return // which read it as no value of theirs; see TestNumericFlags
			}
			seen++
			name := cmd.CommandPath() + " --" + f.Name
			err := cmd.Flags().Set(f.Name, "")
			if err == nil {
				taken = append(taken, name)
			} else if err = flagFault(cmd, err); err.Error() != "--"+f.Name+" is empty" || exitOf(err).Hint == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) {
			if cmd.Flags().Lookup(f.Name) == nil {
				cmd.Flags().AddFlag(f)
			}
		})
		cmd.Flags().VisitAll(try)
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(Program{Parts: parts.All()}.Command())
	slices.Sort(taken)
	slices.Sort(means)
	if !slices.Equal(taken, means) {
		t.Errorf("these take an empty value:\n%s\nwant:\n%s", strings.Join(taken, "\n"), strings.Join(means, "\n"))
	}
	if seen < 100 {
		t.Errorf("only %d flags were tried", seen)
	}
}

// A program of another name names itself where it prints a command, and nowhere adroit.
func TestNameOfAProgram(t *testing.T) {
	t.Cleanup(func() { hint.As("") })
	home, work := t.TempDir(), t.TempDir()
	script := filepath.Join(home, "turns.yaml")
	if err := os.WriteFile(script, []byte("turns:\n- calls: [{name: shell, args: {command: ./x}}]\n- {text: hello}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		var out strings.Builder
		Program{Name: "acme", Parts: parts.All(), Stdout: &out, Stderr: &out, Getenv: func(name string) string {
			return map[string]string{"HOME": home, "ADROIT_HOME": filepath.Join(home, "data"), "PATH": os.Getenv("PATH")}[name]
		}}.Run(context.Background(), args...)
		return out.String()
	}
	for _, c := range []struct {
		says string
		args []string
	}{
		{"acme: error: ", []string{"jobs", "show", "J0000000000000"}},
		{"acme run ", []string{"jobs", "-C", work}},
		{"acme agents list", []string{"run", "nosuchagent", "x", "-C", work}},
		{"acme config login PROVIDER", []string{"doctor"}},
		{"acme answer approve ", []string{"run", "chat", "hi", "-C", work, "-m", "script:" + script}},
		{"acme --data-dir ", []string{"--data-dir", t.TempDir(), "run", "chat", "hi", "-C", work, "-m", "script:" + script}},
		{"acme answer approve J", []string{"jobs", "show", "last", "-C", work}},
		{"usage: acme jobs show", []string{"jobs", "show", "a", "b"}},
		{"acme devel ", []string{"version"}},
		{"acme run builder", []string{"run", "--help"}},
		{"acme runs LLM agents", []string{"--help"}},
		{"The configuration of acme. acme config shows", []string{"init", "--dry-run", "-C", work}},
		{"acme run --test COMMAND", []string{"tools", "call", "run_tests", "{}", "-C", work}},
		{"complete -o default -F __start_acme acme", []string{"completion", "bash"}},
	} {
		if got := run(c.args...); !strings.Contains(got, c.says) || printed.MatchString(got) {
			t.Errorf("acme %s: no %q, or a command of adroit:\n%s", strings.Join(c.args, " "), c.says, got)
		}
	}
	for _, c := range (Program{Name: "acme"}).Command().Commands() {
		for _, page := range append([]*cobra.Command{c}, c.Commands()...) {
			if got := run(append(strings.Fields(page.CommandPath())[1:], "--help")...); printed.MatchString(got) {
				t.Errorf("%s --help: a command of adroit:\n%s", page.CommandPath(), got)
			}
		}
	}
}

// printed is a command of adroit, or a line that it begins with its name.
var printed = regexp.MustCompile(`(?m)\badroit(: (error|hint|note|warning)| (run|chat|jobs|login|agents|tools|doctor|config|models|mcp|serve|fix|approve|--?[a-z]+)\b)`)
