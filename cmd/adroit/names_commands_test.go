package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/adroit-run/adroit/pkg/cli"
)

// nameChanges has each command of adroit by the test that kills it where it changes names, or
// by the reason why none has to.
var nameChanges = map[string]string{
	"TestRemovalKilled": "jobs rm, jobs prune",
	"TestMergeKilled":   "jobs merge",
	"TestUndoKilled":    "jobs undo",
	"TestBackupKilled":  "jobs backup, jobs restore",
	"TestTreesKilled":   "run",
	"TestPRKilled":      "git pr",
	"one file, put in place whole by a rename, or one file taken away": "config set, config trust, mcp add, mcp login, mcp logout, mcp check, config login, config logout, models check, models forget, fix failures propose, serve token add, serve token revoke",
	"one transaction of the database":                                  "agents memory add, agents memory edit, agents memory forget, agents memory import, fix failures forget",
	"not killed yet: the entry goes first, as one file; records and caches of the server that a kill leaves are not taken away later": "mcp remove",
	"new files only, which it refuses to put over others":                                                                             "agents new, init, tools new",
	"runs a job, as run does": "answer, answer approve, answer deny, answer signal, chat, continue, demo, fix, git commit, jobs cancel, jobs retry, run compare, serve acp, serve triggers test, mcp call, mcp serve, tools call, worker",
	"Ollama has the files":    "models pull",
	"reads": "agents lint, agents list, agents show, completion, config get, config path, config show, doctor, fix failures list, jobs artifacts, jobs audit, jobs diff, jobs graph, jobs list, jobs logs, jobs show, jobs steps, jobs transcript, jobs wait, " +
		"mcp list, agents memory export, agents memory list, agents memory show, models list, pipelines graph, pipelines lint, pipelines list, pipelines schema, pipelines show, serve triggers list, agents skills list, agents skills show, fix stats, tools lint, tools list, tools show, update, version",
}

// A new command is put where it belongs: killed where it changes names, or with the reason.
func TestNameChangesOfAllCommands(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(b)
	}
	where := map[string]string{}
	for why, commands := range nameChanges {
		if strings.HasPrefix(why, "Test") && !strings.Contains(tests.String(), "func "+why+"(") {
			t.Errorf("there is no test %s", why)
		}
		for c := range strings.SplitSeq(commands, ", ") {
			if where[c] != "" {
				t.Errorf("%s is there twice: %s, %s", c, where[c], why)
			}
			where[c] = why
		}
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		_, name, _ := strings.Cut(c.CommandPath(), " ")
		old := c.Hidden && c.DisableFlagParsing // it only answers with its new name
		if name == "" || old || c.HasSubCommands() && where[name] == "" {
			return
		}
		if where[name] == "" {
			t.Errorf("adroit %s is in no row of nameChanges: if it removes, moves or exchanges something, have a test kill it there", name)
		}
		delete(where, name)
	}
	walk(cli.Program{}.Command())
	for name := range where {
		t.Errorf("there is no command adroit %s", name)
	}
}
