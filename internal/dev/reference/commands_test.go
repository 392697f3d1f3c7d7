package reference

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/parts"
)

// codes describes the exit codes, by their names in pkg/cli/internal/kit.
var codes = []word{
	{"Done", "Done"},
	{"Failed", "Failed, or something went wrong; stderr says what and what to do"},
	{"Usage", "Usage error"},
	{"Limit", "Stopped short of done: a limit, stuck, silent, or the model reports that it cannot be done. The partial result is kept"},
	{"Waiting", "Waiting for a person"},
	{"Cancelled", "Cancelled"},
	{"Signal", "and more: plus the signal's number: 130 after Ctrl-C, 143 after SIGTERM; `adroit continue` continues the job"},
}

// variables describes the environment variables that the program reads.
var variables = []word{
	{"ADROIT_MODE", "Overrides `mode` of the configuration"},
	{"ADROIT_APPROVE", "Overrides `approve` of the configuration"},
	{"ADROIT_CONFIG", "The configuration file, which must then exist"},
	{"ADROIT_HOME", "Where all state is kept; `--data-dir` overrides it"},
	{"ADROIT_LOG", "Overrides `log.level` of the configuration: `ADROIT_LOG=debug`"},
	{"ADROIT_AGENT", "Overrides `agent` of the configuration"},
	{"ADROIT_MODEL", "Overrides `model` of the configuration; `-m` overrides it"},
	{"ADROIT_MCP_TOKEN", "What clients of `adroit mcp serve --http` send; else `ADROIT_TOKEN` counts"},
	{"ADROIT_SANDBOX", "Overrides `sandbox.level` of the configuration; `--sandbox` overrides it"},
	{"ADROIT_RELEASES", "Where `adroit update` asks for the newest release, if not at GitHub"},
	{"ADROIT_SERVER", "The `adroit serve` that does what commands ask; `--server` overrides it"},
	{"ADROIT_TOKEN", "What clients of `adroit serve` send; else the token in its data directory"},
	{"ANTHROPIC_API_KEY", "Key for `anthropic/…` models"},
	{"ANTHROPIC_BASE_URL", "Where `anthropic/…` models are, if not at Anthropic"},
	{"COLUMNS", "The width to write for, if stderr is a terminal"},
	{"DISPLAY", "Set by X11, from which Ctrl+V in chat takes a picture with `xclip`"},
	{"EDITOR", "Editor of `/editor` in chat and of messages of commits, if `VISUAL` names none"},
	{"GEMINI_API_KEY", "Key for `gemini/…` models"},
	{"GOGC", "As Go programs read it; unset, nothing is collected below 16 MB"},
	{"HOME", "Has `.config/adroit`, `.local/share/adroit` and `.claude/agents`"},
	{"NO_COLOR", "No colour, whatever its value"},
	{"PAGER", "Program that `adroit config trust` shows files with at a terminal; `less` without it"},
	{"LESS", "Options of `less`; `FRX` without it"},
	{"OLLAMA_API_KEY", "Key for an Ollama server that asks for one"},
	{"TEMPORAL_ADDRESS", "The frontend of Temporal, if `temporal.address` names none; else 127.0.0.1:7233"},
	{"TEMPORAL_NAMESPACE", "The namespace of Temporal, if `temporal.namespace` names none; else default"},
	{"TEMPORAL_API_KEY", "The API key of Temporal, if `temporal.api_key_file` names none"},
	{"TEMPORAL_TLS", "`true`: the connection to Temporal uses TLS"},
	{"TEMPORAL_TLS_SERVER_CA_CERT_PATH", "The authorities of Temporal's certificate, if `temporal.tls.ca` names none"},
	{"TEMPORAL_TLS_SERVER_NAME", "The name in Temporal's certificate, if `temporal.tls.server_name` names none"},
	{"TEMPORAL_TLS_CLIENT_CERT_PATH", "This machine's certificate for Temporal, if `temporal.tls.cert` names none"},
	{"TEMPORAL_TLS_CLIENT_KEY_PATH", "The key of that certificate, if `temporal.tls.key` names none"},
	{"OLLAMA_HOST", "Where Ollama is, as Ollama itself reads it"},
	{"OPENAI_API_KEY", "Key for `openai/…` models"},
	{"OPENAI_BASE_URL", "Where `openai/…` models are, if not at OpenAI"},
	{"OPENROUTER_API_KEY", "Key for `openrouter/…` models"},
	{"TERM", "`dumb`: no colour and no line that is redrawn"},
	{"TMUX", "Set by tmux, through which `/copy` reaches the terminal"},
	{"VISUAL", "Editor of `/editor` in chat; before `EDITOR`"},
	{"WAYLAND_DISPLAY", "Set by Wayland, from which Ctrl+V in chat takes a picture with `wl-paste`"},
	{"XDG_CONFIG_HOME", "Instead of `~/.config`, if absolute"},
	{"XDG_DATA_HOME", "Instead of `~/.local/share`, if absolute"},
}

func TestCommands(t *testing.T) {
	values := exitCodes(t)
	var names []string
	for name := range values {
		names = append(names, name)
	}
	complete(t, "exit code", codes, names)
	complete(t, "environment variable", variables, variablesOf(t))

	var b strings.Builder
	b.WriteString("## Exit codes\n\n| code | |\n|---|---|\n")
	for _, w := range codes {
		fmt.Fprintf(&b, "| %s | %s |\n", values[w.name], w.about)
	}
	b.WriteString("\n## Environment\n\n| variable | |\n|---|---|\n")
	for _, w := range variables {
		fmt.Fprintf(&b, "| `%s` | %s |\n", w.name, w.about)
	}
	root := cli.Program{Parts: parts.All()}.Command()
	b.WriteString("\nAn endpoint's `key_env` names one more.\n\n## Flags of every command\n")
	writeFlags(&b, root.PersistentFlags())
	for _, c := range root.Commands() {
		writeCommand(t, &b, c)
	}
	hold(t, "commands.md", b.String())
}

func writeCommand(t *testing.T, b *strings.Builder, c *cobra.Command) {
	if old := c.Hidden && c.DisableFlagParsing; old || c.Deprecated != "" || !c.Runnable() && !c.HasAvailableSubCommands() {
		return
	}
	if c.Short == "" {
		t.Errorf("%s has no line that says what it does", c.CommandPath())
	}
	level := "##"
	if c.Parent().HasParent() {
		level = "###"
	}
	about := strings.TrimSpace(c.Long)
	if about == "" {
		about = strings.TrimSuffix(c.Short, ".") + "."
	}
	fmt.Fprintf(b, "\n%s %s\n\n%s\n\n", level, c.CommandPath(), about)
	if c.Runnable() {
		fmt.Fprintf(b, "```\n%s %s\n```\n", c.Parent().CommandPath(), c.Use)
	}
	if c.Example == "" && (!c.Parent().HasParent() || !c.HasAvailableSubCommands()) {
		t.Errorf("%s has no example", c.CommandPath())
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\nExample:\n\n```\n%s\n```\n", strings.Trim(c.Example, "\n"))
	}
	writeFlags(b, c.NonInheritedFlags())
	for _, sub := range c.Commands() {
		writeCommand(t, b, sub)
	}
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	var rows []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		kind, about := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind != "" {
			name += " " + kind
		}
		if d := f.DefValue; !slices.Contains([]string{"", "0", "0s", "false", "[]"}, d) {
			about += " (default " + d + ")"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", name, cell(about)))
	})
	if rows != nil {
		b.WriteString("\n| flag | |\n|---|---|\n" + strings.Join(rows, ""))
	}
}

// exitCodes gives the values of the constants of pkg/cli/internal/kit by name.
func exitCodes(t *testing.T) map[string]string {
	out := map[string]string{}
	each(t, []string{"pkg/cli/internal/kit"}, func(n ast.Node) {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return
		}
		if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.INT && v.Names[0].IsExported() {
			out[v.Names[0].Name] = lit.Value
		}
	})
	return out
}

var variable = regexp.MustCompile(`^[A-Z][A-Z_]{3,}$`)

// variablesOf finds the variables that the command line reads from the environment: every string
// in capitals counts as a variable, so that none is missed.
func variablesOf(t *testing.T) (out []string) {
	not := []string{
		"ADROIT_KILL_AT", // only in programs built for crash tests
		"LAST",           // a job
		"FILE", "KEY",    // arguments of commands
		"HEAD",                                    // of git
		"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT", // what git var is asked for
	}
	each(t, cliDirs(t), func(n ast.Node) {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		if s, err := strconv.Unquote(lit.Value); err == nil && variable.MatchString(s) && !slices.Contains(not, s) {
			out = append(out, s)
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// cliDirs lists the folders whose code reads the environment.
func cliDirs(t *testing.T) (dirs []string) {
	root := "../../.."
	for _, top := range []string{"pkg/cli", "pkg/config", "pkg/adroit", "pkg/config/internal/provider"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(name string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if err == nil && !d.IsDir() && strings.HasSuffix(name, ".go") {
				rel, err := filepath.Rel(root, filepath.Dir(name))
				dirs = append(dirs, filepath.ToSlash(rel))
				return err
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.Compact(dirs)
}

func each(t *testing.T, dirs []string, f func(ast.Node)) {
	for _, dir := range dirs {
		for _, file := range source(t, dir) {
			ast.Inspect(file, func(n ast.Node) bool {
				if n != nil {
					f(n)
				}
				return true
			})
		}
	}
}
