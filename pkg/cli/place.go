package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/spf13/cobra"
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

// localCommands are whether a command and those below it work with the files of this machine, not
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

// addMoved has a command of an earlier version answer with what it is called now.
func addMoved(root *cobra.Command) {
	for _, m := range moved {
		parent, name := root, m.old
		if noun, below, ok := strings.Cut(m.old, " "); ok {
			parent, name = find(root, noun), below
		}
		if find(parent, name) != nil { // a command of the program
			continue
		}
		parent.AddCommand(&cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
			ValidArgsFunction: cobra.NoFileCompletions,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return kit.Usagef(fmt.Sprintf("%s %s --help has the details", root.Name(), m.now), "%s is now %s %s", cmd.CommandPath(), root.Name(), m.now)
			}})
	}
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
