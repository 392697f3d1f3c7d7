package adroit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/jobdir"
	"github.com/adroit-run/adroit/internal/project"
	"github.com/adroit-run/adroit/internal/projectdir"
	"github.com/adroit-run/adroit/internal/spelling"
	"github.com/adroit-run/adroit/internal/tools/test"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
	"golang.org/x/sys/unix"
)

// A Finding is one thing that was looked at on a machine.
type Finding struct {
	Name   string        `json:"name"`
	Status FindingStatus `json:"status"`
	What   string        `json:"what"`
	Do     string        `json:"do,omitempty"` // the remedy, if one is needed or useful
}

// A FindingStatus is how bad a finding is.
type FindingStatus string

// Statuses of findings.
const (
	Fine    FindingStatus = "fine"
	Lacking FindingStatus = "missing" // something that only some jobs need
	Broken  FindingStatus = "broken"  // no job can run
	Note    FindingStatus = "note"
)

// A DoctorQuery is what Doctor looks at.
type DoctorQuery struct {
	Dir   string `json:"dir,omitempty"`   // the project; empty: none
	Home  string `json:"home,omitempty"`  // the directory that findings call ~
	Check bool   `json:"check,omitempty"` // also verify the database and the undo data of every job
}

// Doctor implements [Machine].
func (rt *Runtime) Doctor(ctx context.Context, q DoctorQuery) ([]Finding, error) {
	return (&doctor{rt.o, rt, nil, q}).examine(ctx), nil
}

// Diagnose is Doctor for options that no runtime could be opened with; failed
// is why.
func Diagnose(ctx context.Context, o Options, failed error, q DoctorQuery) []Finding {
	return (&doctor{o, nil, failed, q}).examine(ctx)
}

// A doctor looks at a machine with a runtime, or with the error that kept one
// from opening.
type doctor struct {
	o      Options
	rt     *Runtime
	failed error
	q      DoctorQuery
}

func (d *doctor) examine(ctx context.Context) []Finding {
	out := slices.Concat([]Finding{d.data(ctx)}, programs(ctx), d.servers(), d.tools(), []Finding{d.tests(), d.agents(ctx)})
	if d.rt != nil {
		if c, err := d.rt.modelCatalog(); err == nil {
			out = append(out, c.Examine(ctx)...)
		}
	}
	out = append(out, d.sandbox()...)
	if d.q.Check && d.rt != nil {
		out = append(out, d.check(ctx)...)
	}
	return out
}

// home shortens a path for people.
func (d *doctor) home(path string) string {
	if h := d.q.Home; h != "" && h != "/" {
		if path == h {
			return "~"
		}
		if rest, ok := strings.CutPrefix(path, h+"/"); ok {
			return "~/" + rest
		}
	}
	return path
}

// lowDisk is the free space in bytes below which data warns.
const lowDisk = 500 << 20

// data reports whether jobs can be kept.
func (d *doctor) data(ctx context.Context) Finding {
	const name = "data"
	switch {
	case d.failed != nil:
		return Finding{name, Broken, d.failed.Error(), "name one with --data-dir DIR or ADROIT_HOME"}
	case d.o.Data == "":
		return Finding{name, Note, "jobs are kept in memory", ""}
	}
	err := writable(d.o.Data)
	if err == nil && d.o.CheckStore != nil {
		_, _, err = d.o.CheckStore(ctx, false)
	}
	if err != nil {
		return Finding{name, Broken, err.Error(), "make it writable, or keep state elsewhere with --data-dir DIR or ADROIT_HOME"}
	}
	f := Finding{name, Fine, d.home(d.o.Data), ""}
	var st unix.Statfs_t
	if unix.Statfs(d.o.Data, &st) == nil {
		free := int64(st.Bavail) * int64(st.Bsize)
		f.What += fmt.Sprintf(", %d MB free", free>>20)
		if free < lowDisk {
			f.Status, f.Do = Lacking, "jobs pause when the disk is full; adroit jobs rm frees the space of ended jobs"
		}
	}
	return f
}

// writable makes a directory and a file in it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".probe-")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

func (d *doctor) tools() (out []Finding) {
	const name = "tools"
	var set *tools.Set
	var err error
	if d.rt != nil {
		set, err = d.rt.tools()
	} else {
		set, err = tools.NewSet(d.o.Tools...)
	}
	if err != nil {
		return []Finding{{name, Broken, "this program's tools: " + err.Error(), "run adroit tools lint for details"}}
	}
	missing := tools.Missing(set, nil)
	for _, tool := range slices.Sorted(maps.Keys(missing)) {
		out = append(out, Finding{name, Lacking, missing[tool].Error(), ""})
	}
	if out == nil {
		out = []Finding{{name, Fine, spelling.Plural(set.Len(), "tool"), ""}}
	}
	return out
}

func (d *doctor) agents(ctx context.Context) Finding {
	const name = "agents"
	if d.failed != nil {
		return Finding{name, Lacking, d.failed.Error(), ""}
	}
	l, err := d.rt.Agents(ctx, Scope{})
	if err == nil {
		err = l.Problems.Err()
	}
	if err != nil {
		return Finding{name, Lacking, err.Error(), "run adroit agents lint for details"}
	}
	return Finding{name, Fine, spelling.Plural(len(l.Items), "agent"), ""}
}

// tests reports how the tests of the project are run.
func (d *doctor) tests() Finding {
	const name = "tests"
	if d.failed != nil {
		return Finding{name, Lacking, d.failed.Error(), ""}
	}
	command, from, err := d.rt.testCommandIn(d.q.Dir)
	if err != nil {
		return Finding{name, Lacking, err.Error(), "adroit trust --list shows what is trusted"}
	}
	switch from {
	case "", project.StagesFile:
	case projectdir.Any:
		from = "test in " + d.home(d.o.ConfigFile)
	default:
		from = fmt.Sprintf("test of %s in %s", d.home(from), d.home(d.o.ConfigFile))
	}
	files, err := workspace.Open(d.q.Dir, nil)
	if err != nil {
		return Finding{name, Lacking, err.Error(), ""}
	}
	defer files.Close()
	found, err := test.Find(files, command)
	switch {
	case err != nil:
		return Finding{name, Lacking, err.Error(), "correct the file"}
	case len(found) == 0:
		return Finding{name, Lacking, "no tests found in " + d.home(d.q.Dir), "if there are some, name the command that runs them: test: COMMAND in " + project.StagesFile + ", or adroit run --test COMMAND"}
	case command != "":
		return Finding{name, Fine, fmt.Sprintf("%s (from %s)", command, from), ""}
	}
	var all []string
	for _, s := range found {
		all = append(all, fmt.Sprintf("%s (found: %s)", s.Command, s.From))
	}
	return Finding{name, Fine, strings.Join(all, "; "), ""}
}

// check reads all that is kept: the store, and what undo needs of every job.
func (d *doctor) check(ctx context.Context) []Finding {
	const name, remedy = "check", "restore a backup: adroit restore FILE --replace"
	if d.o.CheckStore == nil {
		return nil
	}
	var out []Finding
	list, damage, err := d.o.CheckStore(ctx, true)
	for _, what := range damage {
		out = append(out, Finding{name, Broken, what, remedy})
	}
	if err != nil {
		return append(out, Finding{name, Broken, err.Error(), remedy})
	}
	known := map[string]bool{}
	ledgers := 0
	for _, j := range list {
		known[j.ID] = true
		led, err := jobdir.OpenLedger(d.rt.data(), j.ID)
		if err == nil && led != nil {
			ledgers++
			err = led.Verify(ctx)
			_ = led.Close() // it was read only
		}
		if err != nil {
			out = append(out, Finding{name, Broken, fmt.Sprintf("%s: %v", j.ID, err), "undo of this job is incomplete; " + remedy})
		}
	}
	folders, _ := os.ReadDir(filepath.Join(d.o.Data, "jobs")) // there need not be any
	for _, f := range folders {
		if !known[f.Name()] {
			out = append(out, Finding{name, Note, "the folder of " + f.Name() + " has no job in the database",
				"adroit jobs undo " + f.Name() + " takes its changes back, adroit jobs rm " + f.Name() + " removes it"})
		}
	}
	if len(out) == 0 {
		out = append(out, Finding{name, Fine, "database and " + spelling.Plural(ledgers, "record") + " of changes", ""})
	}
	return out
}
