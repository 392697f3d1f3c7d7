package catalog_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/tools"
)

// instructions are a file of each kind that a project may instruct agents by, with a
// word that shows whether it was read.
var instructions = map[string]string{
	".adroit/agents/spy.md":       "---\nname: spy\ndescription: hunter2\n---\nhunter2\n",
	".claude/agents/spy.md":       "---\nname: spy\ndescription: hunter2\n---\nhunter2\n",
	".claude/agents/a/b/spy.md":   "---\nname: spy\ndescription: hunter2\n---\nhunter2\n",
	".adroit/pipelines/spy.yaml":  "description: hunter2\nsteps: [{id: a, agent: hunter2}]\n",
	".adroit/problems/spy.yaml":   "detectors:\n  - {name: hunter2, pattern: hunter2}\n",
	".adroit/skills/spy/SKILL.md": "---\nname: spy\ndescription: hunter2\n---\nhunter2\n",
	".claude/skills/spy/SKILL.md": "---\nname: spy\ndescription: hunter2\n---\nhunter2\n",
	"AGENTS.md":                   "hunter2\n",
	".adroit/validation.yaml":     "stages: [{name: tests, run: hunter2}]\n",
	".mcp.json":                   `{"mcpServers": {"hunter2": {"command": "hunter2"}}}`,
}

// read returns everything that a runtime takes from a workspace, with the problems that it
// reports.
func read(t *testing.T, dir string, store *trust.Store, all bool) string {
	t.Helper()
	d, err := catalog.Decide(store, t.TempDir(), dir, all)
	dirtest.Must(t, err)
	var said strings.Builder
	add := func(v ...any) {
		for _, v := range v {
			if err, ok := v.(error); ok {
				said.WriteString(err.Error() + "\n")
				continue
			}
			b, err := json.Marshal(v)
			dirtest.Must(t, err)
			said.Write(append(b, '\n'))
		}
	}
	warn := func(format string, args ...any) { add(agents.Problem{Message: format}, args) }
	c := catalog.New(catalog.Options{Warn: warn, Tools: func() (*tools.Set, error) { return tools.NewSet() }})
	list, pipelines := c.Agents(d), c.Pipelines(d)
	add(list.List(), list.Problems(), pipelines.List(), pipelines.Problems())
	book, problems := c.Book(d)
	add(book, problems)
	files, err := d.Open()
	dirtest.Must(t, err)
	defer files.Close()
	found, err := d.Context(t.Context(), files, nil, 0)
	add(found, err)
	servers, err := d.ToolServers()
	add(string(servers), err)
	command, _ := d.TestCommand(nil, warn)
	add(command)
	return said.String()
}

// TestLinksOut puts each file that can instruct agents, and the directory it is in,
// outside the workspace and a link or a pipe in its place: nothing of it is read,
// also for a run that trusts all of the workspace, and the file that was refused is
// named.
func TestLinksOut(t *testing.T) {
	t.Parallel()
	for name, text := range instructions {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			t.Parallel()
			plain := t.TempDir()
			dirtest.Write(t, filepath.Join(plain, name), text)
			if !strings.Contains(read(t, plain, nil, true), "hunter2") {
				t.Fatal("the file itself is not read: nothing is tested")
			}
			for moved := name; moved != "."; moved = filepath.Dir(moved) { // the file, then each directory above it
				top := t.TempDir()
				dir, out := filepath.Join(top, "work"), filepath.Join(top, "out")
				dirtest.Write(t, filepath.Join(out, name), text)
				dirtest.Must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(moved)), 0o755))
				dirtest.Must(t, os.Symlink(filepath.Join(out, moved), filepath.Join(dir, moved)))
				refused(t, dir, moved)
			}
			dir := t.TempDir()
			dirtest.Must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
			dirtest.Must(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
			refused(t, dir, name)
		})
	}
}

// refused checks that nothing is read of a name in the workspace.
func refused(t *testing.T, dir, name string) {
	t.Helper()
	for _, all := range []bool{true, false} {
		got := read(t, dir, trust.In(t.TempDir()), all)
		if strings.Contains(got, "hunter2") {
			t.Errorf("%s was read, trusting all: %v\n%s", name, all, got)
		}
		if all && !strings.Contains(got, filepath.Base(name)) {
			t.Errorf("nothing reports that %s is refused:\n%s", name, got)
		}
	}
}
