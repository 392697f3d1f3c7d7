package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// prepare runs at the beginning of each command.
func (a *app) prepare(cmd *cobra.Command, args []string) error {
	if asked, _ := cmd.Flags().GetBool("version"); asked && !cmd.HasParent() {
		return nil
	}
	if path(cmd) == "serve" {
		hint.Place(nil) // its answers are read elsewhere
	} else {
		hint.Place(a.place(cmd))
	}
	if a.engine != "" && a.engine != "local" && a.engine != "temporal" {
		return kit.Usagef("it is local or temporal", "--engine is %q", a.engine)
	}
	if err := a.stayLocal(cmd, args); err != nil {
		return err
	}
	return a.handOver(cmd)
}

var id = lazyregexp.New(`^J[0-9A-Z]{13}$`)

// needsNoDir reports whether a word of a command makes it ignore the directory, or name
// another one.
func needsNoDir(word string) bool { return word == "--all" || word == "-C" || id.MatchString(word) }

// place returns a function that completes printed commands with the flags for the data
// directory, the server and the directory of cmd, if they would lead elsewhere without.
func (a *app) place(cmd *cobra.Command) func(words []string) []string {
	root := cmd.Root()
	dir := ""
	if f := cmd.Flags().Lookup("dir"); f != nil && f.Changed {
		dir = f.Value.String()
		if here, err := filepath.Abs("."); err == nil {
			if abs, err := filepath.Abs(dir); err == nil && abs == here {
				dir = ""
			}
		}
	}
	data := sync.OnceValue(a.givenData)
	return func(words []string) []string {
		c, n := root, 0
		for n < len(words) {
			i := slices.IndexFunc(c.Commands(), func(c *cobra.Command) bool { return c.Name() == words[n] || c.HasAlias(words[n]) })
			if i < 0 {
				break
			}
			c, n = c.Commands()[i], n+1
		}
		var out []string
		if d := data(); d != "" {
			out = append(out, "--data-dir", hint.Quote(d))
		}
		if a.engine != "" && !isLocal(c) {
			out = append(out, "--engine", a.engine)
		}
		if a.server != "" && a.server != a.Getenv("ADROIT_SERVER") && !isLocal(c) {
			out = append(out, "--server", hint.Quote(a.server))
		}
		out = append(out, words[:n]...)
		if dir != "" && c.Flags().Lookup("dir") != nil && !slices.ContainsFunc(words, needsNoDir) {
			out = append(out, "-C", hint.Quote(dir))
		}
		return append(out, words[n:]...)
	}
}

// givenData is the data directory if it was given by the flag, and is another one
// without it.
func (a *app) givenData() string {
	if a.dataDir == "" {
		return ""
	}
	from := config.Env{Getenv: a.Getenv, ReadFile: os.ReadFile}
	with, err := config.LoadPlace(from, config.Flags{DataDir: a.dataDir})
	if err != nil {
		return a.dataDir
	}
	dir, err := with.Data()
	if err != nil {
		return a.dataDir
	}
	if without, err := config.LoadPlace(from, config.Flags{}); err == nil {
		if d, err := without.Data(); err == nil && d == dir {
			return ""
		}
	}
	return a.dataDir
}

// localCommands marks whether a command and those below it work with the files of this machine, not
// with a client.
var localCommands = map[string]bool{
	"jobs backup": true, "jobs restore": true, "demo": true, "init": true,
	"config": true, "config trust": false, "serve": true, "serve acp": false, "worker": true, "mcp add": true, "mcp remove": true, "mcp login": true, "mcp logout": true,
}

// looking are the commands that only look at jobs: they work although the configuration
// has faults.
var looking = map[string]bool{
	"jobs": true, "jobs show": true, "jobs logs": true, "jobs steps": true, "jobs transcript": true,
	"jobs artifacts": true, "jobs diff": true, "jobs graph": true,
}

// stayLocal makes local commands ignore ADROIT_SERVER and refuse --server.
func (a *app) stayLocal(cmd *cobra.Command, _ []string) error {
	a.looks, a.serves = looking[path(cmd)], path(cmd) == "serve"
	if !isLocal(cmd) {
		return nil
	}
	if a.local = true; a.server != "" {
		return kit.Usagef("run it where the server is, without --server", "%s works with the files of this machine, not with a server", cmd.CommandPath())
	}
	return nil
}

func isLocal(cmd *cobra.Command) bool {
	for c := cmd; c.HasParent(); c = c.Parent() {
		if local, listed := localCommands[path(c)]; listed {
			return local
		}
	}
	return false
}

// path is the words that name a command.
func path(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// moved has the commands of earlier versions by what they are called now.
var moved = []struct{ old, now string }{
	{"acp", "serve acp"}, {"approve", "answer approve"}, {"backup", "jobs backup"}, {"commit", "git commit"}, {"compare", "run compare"},
	{"deny", "answer deny"}, {"failures", "fix failures"}, {"jobs resume", "continue"}, {"login", "config login"}, {"logout", "config logout"},
	{"memory", "agents memory"}, {"pr", "git pr"}, {"restore", "jobs restore"}, {"resume", "continue"}, {"signal", "answer signal"}, {"skills", "agents skills"},
	{"stats", "fix stats"}, {"trust", "config trust"},
}

// foreign lists the words of users who come from another agent, as docs/compare.md has it, by what it
// is called here. A command of one agent may mean something else in another: these mean one thing.
var foreign = []struct{ ours, theirs string }{
	{"agents", "agent"}, {"agents new", "generate"}, {"answer", "reply"}, {"chat", "new tui repl"}, {"chat --continue", "attach session"},
	{"config", "configure permissions settings"}, {"config path", "config.edit config.file"}, {"config show", "config.list config.ls config.view"}, {"config login", "auth signin"}, {"doctor", "health"},
	{"fix -- COMMAND", "test lint"}, {"init", "setup"}, {"jobs", "history ls ps sessions status"},
	{"jobs cancel", "kill stop"}, {"jobs logs", "log"}, {"jobs merge", "apply"}, {"jobs show", "cost usage"}, {"jobs transcript", "export"}, {"jobs undo", "revert rewind rollback"},
	{"mcp serve", "mcp-server"}, {"models", "model"}, {"run", "ask exec headless prompt"}, {"run --mode plan", "plan"}, {"run builder", "build builder"},
	{"run debugger", "debug debugger"}, {"run reviewer", "review reviewer"}, {"run supervisor", "supervisor"}, {"serve", "server ui web"}, {"tools", "extensions plugin plugins"}, {"update", "upgrade"},
}

// foreignFlags lists other agents' flags, by what is typed here for them.
var foreignFlags = []struct{ ours, theirs string }{
	{"run TASK", "p print prompt message quiet q non-interactive exec"},
	{"run --json", "output-format format output stream-json"},
	{"chat MESSAGE", "i prompt-interactive"},
	{"chat --continue", "c r s resume session last restore-chat-history"},
	{"--mode auto for all in the sandbox, or --approve all for everything", "dangerously-skip-permissions dangerously-bypass-approvals-and-sandbox yolo full-auto auto yes yes-always y auto-approve"},
	{"--mode plan, edits or auto", "a ask-for-approval permission-mode approval-mode"},
	{"rules under permissions: in the configuration", "allowedTools allowed-tools disallowedTools disallowed-tools allow-tool deny-tool"},
	{"--dir", "cd cwd directory"},
	{"@FILE in the prompt", "f file files image read add-dir include-directories"},
	{"run AGENT or chat AGENT", "agent"},
	{"a role under models: in the configuration", "profile weak-model editor-model fallback-model"},
	{"-m ollama/NAME", "oss local-provider"},
	{"an agent's file", "system-prompt append-system-prompt"},
	{"--test", "test-cmd auto-test"},
	{"--worktree", "w"},
	{"--version", "v V"},
	{"jobs transcript last, after the run", "debug verbose"},
	{"mcp add", "mcp-config"},
	{"config login PROVIDER", "api-key apikey api_key token"},
	{"serve --listen ADDRESS:PORT", "port addr address bind"},
}

// ours returns our word for another program's; empty if no entry has it.
func ours(list []struct{ ours, theirs string }, word string) string {
	for _, f := range list {
		if slices.Contains(strings.Fields(f.theirs), word) {
			return f.ours
		}
	}
	return ""
}

// addMoved has a command of an earlier version answer with what it is called now, and one of another
// agent with what it is called here.
func addMoved(root *cobra.Command) {
	for _, m := range moved {
		parent, name := below(root, m.old, " ")
		addPointer(parent, name, m.now, func(is, now string) error { return fmt.Errorf("%s is now %s", is, now) })
	}
	for _, f := range foreign {
		for name := range strings.FieldsSeq(f.theirs) {
			parent, name := below(root, name, ".")
			addPointer(parent, name, f.ours, func(is, use string) error { return fmt.Errorf("unknown command %q: use %s", is, use) })
		}
	}
}

// below returns the command that a command is below, and its own name; sep is between both, if it is not root's.
func below(root *cobra.Command, name, sep string) (*cobra.Command, string) {
	if noun, own, ok := strings.Cut(name, sep); ok {
		return find(root, noun), own
	}
	return root, name
}

// addPointer adds a command that only names another one. One of that name in the program stays.
func addPointer(parent *cobra.Command, name, to string, explain func(is, to string) error) {
	if find(parent, name) != nil {
		return
	}
	parent.AddCommand(&cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			of, _, err := cmd.Root().Find(strings.Fields(to))
			if err != nil {
				return err
			}
			return kit.Usagef(of.CommandPath()+" --help has the details", "%w", explain(cmd.CommandPath(), cmd.Root().Name()+" "+to))
		}})
}

// slash explains /NAME without a conversation, where such commands are typed. It returns nil for
// any other word.
func slash(root *cobra.Command, word string) error {
	name, ok := strings.CutPrefix(word, "/")
	if !ok || strings.ContainsAny(name, "/. ") {
		return nil
	}
	help := hint.Command("chat") + " begins one; " + root.Name() + " --help lists the commands here"
	if c := find(root, name); c != nil && !c.Hidden {
		help = fmt.Sprintf("did you mean %q?\n%s", c.CommandPath(), help)
	}
	return kit.Usagef(help, "%s is typed in a conversation", word)
}

// find returns the command of that name below another; nil if there is none.
func find(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// flagFault explains a flag that cannot be read, with the nearest one there is.
func flagFault(cmd *cobra.Command, err error) error {
	hint := fmt.Sprintf("%s --help lists the flags", cmd.CommandPath())
	if cmd.Name() == "run" {
		hint += "; a prompt that begins with a dash goes after --"
	}
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		var number *strconv.NumError
		var bounds *outOfBounds
		if errors.Is(err, errEmpty) {
			hint = "leave it out if none is meant, and look at the variable that was to fill it; " + hint
			err = fmt.Errorf("--%s is empty", value.GetFlag().Name)
		} else if errors.As(err, &bounds) {
			hint = "leave it out for the default; " + hint
			err = fmt.Errorf("--%s is %s: %s", value.GetFlag().Name, value.GetValue(), bounds.words)
		} else if errors.As(err, &number) {
			what := "not a number, or too large"
			if value.GetFlag().Value.Type() == "bool" {
				what = "not true or false; the flag alone means true"
			}
			err = fmt.Errorf("--%s is %q: %s", value.GetFlag().Name, value.GetValue(), what)
		} else if value.GetFlag().Value.Type() == "duration" {
			err = fmt.Errorf("--%s is %q: not a duration; write 30s, 10m or 1h30m", value.GetFlag().Name, value.GetValue())
		}
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if known := flagElsewhere(cmd, unknown.GetSpecifiedName(), names); known != "" {
			hint = known + "\n" + hint
		}
	}
	return &kit.Error{Code: kit.Usage, Err: err, Hint: hint}
}

// flagElsewhere suggests the flag that was meant by one that cmd lacks: another agent's, a misspelt
// one of those that cmd has, or one of adroit run.
func flagElsewhere(cmd *cobra.Command, name string, names []string) string {
	if here := ours(foreignFlags, name); here != "" && !slices.Contains(names, here) {
		if first, _, _ := strings.Cut(here, " "); find(cmd.Root(), first) != nil {
			here = cmd.Root().Name() + " " + here
		}
		return "use " + here
	}
	if n := nearest(name, names); n != "" {
		return fmt.Sprintf("did you mean --%s?", n)
	}
	if run := find(cmd.Root(), "run"); run != nil && run.Flags().Lookup(name) != nil {
		return run.CommandPath() + " has it"
	}
	return ""
}
