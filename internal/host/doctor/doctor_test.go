package doctor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/host/doctor"
	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// healthy returns a doctor of a machine on which it finds nothing wrong.
func healthy(t *testing.T) *doctor.Doctor {
	t.Setenv("PATH", t.TempDir()) // what the machine has is not looked at
	home := t.TempDir()
	return &doctor.Doctor{
		Query: doctor.Query{Dir: t.TempDir(), Home: home}, Data: filepath.Join(home, "data"), Jobs: filepath.Join(home, "data"), ConfigFile: filepath.Join(home, "config.yaml"),
		Tools:       func() (*tools.Set, error) { return tools.NewSet() },
		Agents:      func(context.Context) (int, error) { return 2, nil },
		TestCommand: func(string) (string, string, error) { return "", "", nil },
		Models:      func(context.Context) []doctor.Finding { return []doctor.Finding{{Name: "model", Status: doctor.Fine}} },
	}
}

// find returns the findings under a name.
func find(t *testing.T, d *doctor.Doctor, name string) (all []doctor.Finding) {
	t.Helper()
	for _, f := range d.Examine(t.Context()) {
		if f.Name == name {
			all = append(all, f)
		}
	}
	if all == nil {
		t.Fatalf("nothing is found under %s", name)
	}
	return all
}

// Where no runtime could be opened all else is still looked at, and nothing is asked
// that only a runtime knows.
func TestWithoutRuntime(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	d := &doctor.Doctor{Query: doctor.Query{Check: true}, Failed: errors.New("the disk is gone"), Tools: func() (*tools.Set, error) { return tools.NewSet() }}
	if f := find(t, d, "data")[0]; f.Status != doctor.Broken || f.What != "the disk is gone" || f.Do == "" {
		t.Errorf("data: %+v", f)
	}
	for _, name := range []string{"tests", "agents", "attribution"} {
		if f := find(t, d, name)[0]; f.Status != doctor.Lacking || f.What != "the disk is gone" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if f := find(t, d, "git")[0]; f.Status != doctor.Lacking || f.Do == "" {
		t.Errorf("a program that is not there: %+v", f)
	}
	find(t, d, "sandbox")
}

func TestData(t *testing.T) {
	d := healthy(t)
	if f := find(t, d, "data")[0]; f.Status == doctor.Broken || !strings.HasPrefix(f.What, "~/data, ") {
		t.Errorf("a directory that can be made: %+v", f)
	}
	if left, _ := os.ReadDir(d.Data); len(left) > 0 {
		t.Errorf("the probe left %v", left)
	}
	d.CheckStore = func(context.Context, bool) ([]*jobs.Job, []string, error) { return nil, nil, errors.New("no database") }
	if f := find(t, d, "data")[0]; f.Status != doctor.Broken || f.What != "no database" {
		t.Errorf("a store that does not open: %+v", f)
	}
	d.Data = ""
	if f := find(t, d, "data")[0]; f.Status != doctor.Note {
		t.Errorf("without a directory: %+v", f)
	}
	file := filepath.Join(t.TempDir(), "file")
	dirtest.Write(t, file, "")
	d.Data = filepath.Join(file, "data")
	if f := find(t, d, "data")[0]; f.Status != doctor.Broken || f.Do == "" {
		t.Errorf("below a file: %+v", f)
	}
}

// The finding about tests names the command that runs them, and who configured it.
func TestTests(t *testing.T) {
	d := healthy(t)
	for _, c := range []struct {
		command, from, want string
		err                 error
		status              doctor.Status
	}{
		{"", "", "no tests found in ", nil, doctor.Lacking},
		{"make test", ".adroit/validation.yaml", "make test (from .adroit/validation.yaml)", nil, doctor.Fine},
		{"make test", configs.Any, "make test (from test in ~/config.yaml)", nil, doctor.Fine},
		{"make test", d.Home + "/src", "make test (from test of ~/src in ~/config.yaml)", nil, doctor.Fine},
		{"", "", "not readable", errors.New("not readable"), doctor.Lacking},
	} {
		d.TestCommand = func(dir string) (string, string, error) {
			if dir != d.Dir {
				t.Errorf("asked about %s", dir)
			}
			return c.command, c.from, c.err
		}
		if f := find(t, d, "tests")[0]; f.Status != c.status || !strings.Contains(f.What, c.want) {
			t.Errorf("%q from %q: %+v, want %s", c.command, c.from, f, c.want)
		}
	}
	d.TestCommand = func(string) (string, string, error) { return "", "", nil }
	dirtest.Write(t, filepath.Join(d.Dir, "go.mod"), "module m\n")
	dirtest.Write(t, filepath.Join(d.Dir, "m_test.go"), "package m\n")
	if f := find(t, d, "tests")[0]; f.Status != doctor.Fine || !strings.Contains(f.What, "go test") || !strings.Contains(f.What, "go.mod") {
		t.Errorf("a Go project: %+v", f)
	}
}

// A part of the program itself that cannot be used is reported with advice for more details.
func TestProgramsOwn(t *testing.T) {
	d := healthy(t)
	if f := find(t, d, "agents")[0]; f.Status != doctor.Fine || f.What != "2 agents" {
		t.Errorf("agents: %+v", f)
	}
	d.Agents = func(context.Context) (int, error) { return 0, errors.New("a.md:1: wrong") }
	d.Tools = func() (*tools.Set, error) { return nil, errors.New("two of one name") }
	d.Servers = []lsp.Server{{Name: "no-such-server", Files: []string{"*.x"}, Command: []string{"no-such-program-x"}}}
	for name, want := range map[string]doctor.Status{"agents": doctor.Lacking, "tools": doctor.Broken, "no-such-server": doctor.Lacking} {
		if f := find(t, d, name)[0]; f.Status != want || f.Do == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// A check names the damage of the store, and folders of jobs that the store does not know.
func TestCheck(t *testing.T) {
	d := healthy(t)
	d.Check = true
	known := &jobs.Job{ID: "J1"}
	var damage []string
	d.CheckStore = func(_ context.Context, all bool) ([]*jobs.Job, []string, error) {
		return []*jobs.Job{known}, damage, nil
	}
	if f := find(t, d, "check"); len(f) != 1 || f[0].Status != doctor.Fine {
		t.Errorf("a store without jobs on disk: %+v", f)
	}
	for _, id := range []string{"J1", "J2", "J3"} {
		dirtest.Must(t, os.MkdirAll(filepath.Join(d.Data, "jobs", id), 0o755))
	}
	dirtest.Write(t, filepath.Join(d.Data, "jobs/J2/job.json"), "{}")
	damage = []string{"page 7 is torn"}
	f := find(t, d, "check")
	if len(f) == 3 && (!strings.Contains(f[1].Do, "adroit jobs rm J2") || !strings.Contains(f[2].What, "J3 is of a job that was never begun")) {
		t.Errorf("folders without a job: %+v", f[1:])
	}
	if len(f) != 3 || f[0].Status != doctor.Broken || f[0].What != "page 7 is torn" || f[1].Status != doctor.Note || !strings.Contains(f[1].What, "J2") {
		t.Errorf("a damaged store and a folder without a job: %+v", f)
	}
}

// What killed commands left is named until it is removed.
func TestLeftOver(t *testing.T) {
	d := healthy(t)
	dirtest.Write(t, filepath.Join(d.Jobs, "removing/J1.json"), "{}")
	dirtest.Must(t, os.MkdirAll(filepath.Join(d.Jobs, ".restore-1"), 0o700))
	dirtest.Must(t, os.MkdirAll(filepath.Join(d.Jobs, "jobs"), 0o700))
	f := find(t, d, "removals")
	if len(f) != 2 || !strings.Contains(f[0].What, "J1 is half removed") || !strings.Contains(f[1].What, ".restore-1 is left of") {
		t.Errorf("%+v", f)
	}
}
