package cliagent

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/llm"
)

// An invocation is the input and the limits of one run of a program.
type invocation struct {
	Model   string // empty is the program's own choice
	Prompt  string
	System  string // empty in a session that has it
	Session string // to go on with, empty for a new one
	Dir     string
	Scratch string // a directory for files of this run
	Access  extagent.Access
	Limits  extagent.Limits
	Effort  llm.Effort
	Getenv  func(string) string
}

// A commandLine starts a program for an invocation.
type commandLine struct {
	args  []string
	env   []string // KEY=value
	stdin []byte   // nil: there is nothing to read
}

// A format defines the command line and the stream of one kind of program.
type format interface {
	// keys are the names of our variables that it gets.
	keys() []string
	command(o invocation) (commandLine, error)
	// read parses a line of its stream. Unknown lines are ignored.
	read(s *run, line []byte)
	// exited is called when the process has ended. It ends the run of a program
	// whose stream has no end of its own, or records why there was no stream.
	exited(s *run, code int, stderr string)
}

// most is the longest prompt that is passed as an argument: Linux takes 128 KiB.
const most = 100 << 10

// notAFlag keeps a prompt from being read as a flag.
func notAFlag(prompt string) string {
	if strings.HasPrefix(prompt, "-") {
		return " " + prompt
	}
	return prompt
}

// promptWithSystem is the prompt behind the system prompt, for programs that
// take no system prompt.
func (o invocation) promptWithSystem() string {
	if o.System == "" {
		return o.Prompt
	}
	return "<instructions>\n" + o.System + "\n</instructions>\n\n" + o.Prompt
}

// whole is the value of a limit for a flag; ok is false if there is none.
func whole(n int) (int, bool) { return n, n > 0 }

// decode reads as much of a line as fits into v: programs change their streams,
// and a field of another type is no reason to lose the others.
func decode(line []byte, v any) bool {
	err := json.Unmarshal(line, v)
	var other *json.UnmarshalTypeError
	return err == nil || errors.As(err, &other)
}

// quoted is s as a string of JSON, which TOML reads too.
func quoted(s string) string {
	// DEL is the one character that JSON leaves and TOML refuses.
	return strings.ReplaceAll(string(jsontext.Quote(s)), "\x7f", `\u007F`)
}

// A kind is a format with all that differs between formats besides its arguments and
// its stream.
type kind struct {
	name   string
	pkg    string // where the program comes from; empty for a format without a program of its own
	driven string // how, and what holds it, in a line
	// costs is set if the program reports what it has cost.
	costs bool
	// confines is set if the program runs commands in a sandbox of its own.
	confines bool
	// read returns the format; nil if the Agent Client Protocol is used.
	read func(Config) (format, error)
}

func fixed(f format) func(Config) (format, error) {
	return func(Config) (format, error) { return f, nil }
}

// kinds has all formats, in the order of listings.
var kinds = []kind{
	{name: "claude", pkg: "@anthropic-ai/claude-code", costs: true, read: fixed(claude{}),
		driven: "driven by claude -p; its tools are offered by the agent's rights, its commands are not confined"},
	{name: "codex", pkg: "@openai/codex", confines: true, read: fixed(codex{}),
		driven: "driven by codex exec --json; its commands run in its own sandbox"},
	{name: "gemini", pkg: "@google/gemini-cli", read: fixed(gemini{}),
		driven: "driven by gemini -p; its approval mode follows the agent's rights, its commands are not confined"},
	{name: "opencode", pkg: "opencode-ai", costs: true, read: fixed(opencode{}),
		driven: "driven by opencode run; its permissions follow the agent's rights, its commands are not confined"},
	{name: "jsonl", read: func(c Config) (format, error) { return newLines(c.Args, c.Fields, c.Types) },
		driven: "driven as the configuration says, by lines of JSON; it is not confined"},
	{name: "acp", driven: "driven by the Agent Client Protocol; what it asks is decided by permissions and --approve"},
}

func formatNamed(name string) (kind, bool) {
	for _, k := range kinds {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}

func formatNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Known lists the programs that need no configuration, in the order of listings.
func Known() (names []string) {
	for _, k := range kinds {
		if k.pkg != "" {
			names = append(names, k.name)
		}
	}
	return names
}

// Costs reports whether the program reports what it has cost.
func (a *Agent) Costs() bool { return a.kind.costs }
