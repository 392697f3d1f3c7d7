package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/builtin/test"
	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Examine returns the findings.
func (d *Doctor) Examine(ctx context.Context) []Finding {
	hostexec.Forbid(d.Dir)
	out := slices.Concat([]Finding{d.data(ctx), Program(ctx, "git", "diffs of repositories and the git tools", "--version")}, d.parts(ctx), d.servers(), d.tools(), []Finding{d.tests(), d.agents(ctx)}, d.rules(), d.repository(ctx))
	if d.Failed == nil {
		out = append(out, d.Models(ctx)...)
	}
	out = slices.Concat(out, d.sandbox(), d.removals())
	d.judge(out)
	if d.Check && d.Failed == nil {
		out = append(out, d.check(ctx)...)
	}
	return out
}

// maxLooked bounds the files that are looked at to see what a project has.
const maxLooked = 20_000

// judge marks the findings that are for files which the project does not have.
func (d *Doctor) judge(found []Finding) {
	var globs []string
	for _, f := range found {
		globs = append(globs, f.For...)
	}
	has, looked := map[string]bool{}, 0
	_ = filepath.WalkDir(d.Dir, func(name string, e fs.DirEntry, err error) error {
		if looked++; looked > maxLooked || len(has) == len(globs) {
			return fs.SkipAll
		}
		if err != nil || e.IsDir() {
			if base := filepath.Base(name); name != d.Dir && (strings.HasPrefix(base, ".") || base == "node_modules" || base == "vendor") {
				return fs.SkipDir
			}
			return nil // what cannot be read has nothing that is known of
		}
		for _, g := range globs {
			if ok, _ := filepath.Match(g, e.Name()); ok {
				has[g] = true
			}
		}
		return nil
	})
	for i, f := range found {
		if len(f.For) > 0 && looked <= maxLooked && !slices.ContainsFunc(f.For, func(g string) bool { return has[g] }) {
			found[i].Optional = true
		}
	}
}

// repository reports damage in the project's repository.
func (d *Doctor) repository(ctx context.Context) []Finding {
	dir, err := filepath.EvalSymlinks(d.Dir)
	if d.Dir == "" || err != nil {
		return nil // tests says so
	}
	broken := rootfs.BrokenRepository(ctx, dir)
	if broken == nil {
		return nil
	}
	return []Finding{{Name: "repository", Status: Lacking, What: broken.Error() + "; runs go on without git, commit and pr do not", Do: broken.Remedy}}
}

// lowDisk is the free space in bytes below which data warns.
const lowDisk = 500 << 20

// data reports whether jobs can be kept.
func (d *Doctor) data(ctx context.Context) Finding {
	const name = "data"
	switch {
	case d.Failed != nil:
		return Finding{Name: name, Status: Broken, What: d.Failed.Error(), Do: "name one with --data-dir DIR or ADROIT_HOME"}
	case d.Data == "":
		return Finding{Name: name, Status: Note, What: "jobs are kept in memory"}
	}
	err := writable(d.Data)
	if err == nil && d.CheckStore != nil {
		_, _, err = d.CheckStore(ctx, false)
	}
	if err != nil {
		return Finding{Name: name, Status: Broken, What: err.Error(), Do: "make it writable, or keep state elsewhere with --data-dir DIR or ADROIT_HOME"}
	}
	f := Finding{Name: name, Status: Fine, What: d.home(d.Data)}
	var st unix.Statfs_t
	if unix.Statfs(d.Data, &st) == nil {
		free := int64(st.Bavail) * int64(st.Bsize)
		f.What += fmt.Sprintf(", %d MB free", free>>20)
		if free < lowDisk {
			f.Status, f.Do = Lacking, "jobs pause when the disk is full; "+hint.Command("jobs rm")+" frees the space of ended jobs"
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

func (d *Doctor) tools() (out []Finding) {
	const name = "tools"
	set, err := d.Tools()
	if err != nil {
		return []Finding{{Name: name, Status: Broken, What: err.Error(), Do: "run " + hint.Command("tools lint") + " for details"}}
	}
	missing := tools.Missing(set, tools.OnPath)
	for _, tool := range slices.Sorted(maps.Keys(missing)) {
		out = append(out, Finding{Name: name, Status: Lacking, What: missing[tool].Error(), Optional: !strings.HasPrefix(tool, "secret:")}) // whose name somebody has given
	}
	if out == nil {
		out = []Finding{{Name: name, Status: Fine, What: spelling.Plural(set.Len(), "tool")}}
	}
	return out
}

func (d *Doctor) agents(ctx context.Context) Finding {
	const name = "agents"
	if d.Failed != nil {
		return Finding{Name: name, Status: Lacking, What: d.Failed.Error()}
	}
	count, err := d.Agents(ctx)
	if err != nil {
		return Finding{Name: name, Status: Lacking, What: spelling.FirstLine(err.Error()), Do: "run " + hint.Command("agents lint") + " for details"}
	}
	return Finding{Name: name, Status: Fine, What: spelling.Plural(count, "agent")}
}

// rules reports restrictions in the configuration that match nothing in the project.
func (d *Doctor) rules() (out []Finding) {
	for _, r := range permit.Idle(d.Dir, d.Rules, d.Deny) {
		out = append(out, Finding{Name: "rules", Status: Note, What: fmt.Sprintf("%s fits nothing in %s", r, d.home(d.Dir)), Do: "see that the path is written from the top of the workspace"})
	}
	return out
}

// tests reports how the tests of the project are run.
func (d *Doctor) tests() Finding {
	const name = "tests"
	if d.Failed != nil {
		return Finding{Name: name, Status: Lacking, What: d.Failed.Error()}
	}
	command, from, err := d.TestCommand(d.Dir)
	if err != nil {
		return Finding{Name: name, Status: Lacking, What: err.Error()}
	}
	switch from {
	case "", catalog.StagesFile:
	case configs.Any:
		from = "test in " + d.home(d.ConfigFile)
	default:
		from = fmt.Sprintf("test of %s in %s", d.home(from), d.home(d.ConfigFile))
	}
	files, err := workspace.Open(d.Dir, nil)
	if err != nil {
		return Finding{Name: name, Status: Lacking, What: err.Error()}
	}
	defer files.Close()
	found, err := test.Find(files, command)
	switch {
	case err != nil:
		return Finding{Name: name, Status: Lacking, What: err.Error(), Do: "correct the file"}
	case len(found) == 0:
		return Finding{Name: name, Status: Lacking, What: "no tests found in " + d.home(d.Dir), Do: "if there are some, name the command that runs them: test: COMMAND in " + catalog.StagesFile + ", or " + hint.Command("run --test COMMAND")}
	case command != "":
		return Finding{Name: name, Status: Fine, What: fmt.Sprintf("%s (from %s)", command, from)}
	}
	var all []string
	for _, s := range found {
		all = append(all, fmt.Sprintf("%s (found: %s)", s.Command, s.From))
	}
	return Finding{Name: name, Status: Fine, What: strings.Join(all, "; ")}
}

// removals reports jobs that are half removed.
func (d *Doctor) removals() (out []Finding) {
	if d.Jobs == "" {
		return nil
	}
	ids, err := jobdir.Unfinished(d.Jobs)
	if err != nil {
		out = append(out, Finding{Name: "removals", Status: Broken, What: err.Error(), Do: "make it readable"})
	}
	for _, id := range ids {
		out = append(out, Finding{Name: "removals", Status: Note, What: id + " is half removed", Do: hint.Command("jobs") + " finishes it, as every command does that reads jobs"})
	}
	left, err := rootfs.Left(d.Jobs)
	if err != nil {
		out = append(out, Finding{Name: "removals", Status: Broken, What: err.Error(), Do: "make it readable"})
	}
	for _, path := range left {
		out = append(out, Finding{Name: "removals", Status: Note, What: d.home(path) + " is left of a command that was killed", Do: "the next " + hint.Command("jobs rm") + ", jobs prune, backup or restore removes it"})
	}
	return out
}

// check reads all stored data: the store, and the data for undo of every job.
func (d *Doctor) check(ctx context.Context) []Finding {
	const name = "check"
	remedy := "restore a backup: " + hint.Command("jobs restore FILE --replace")
	if d.CheckStore == nil {
		return nil
	}
	var out []Finding
	list, damage, err := d.CheckStore(ctx, true)
	for _, what := range damage {
		out = append(out, Finding{Name: name, Status: Broken, What: what, Do: remedy})
	}
	if err != nil {
		return append(out, Finding{Name: name, Status: Broken, What: err.Error(), Do: remedy})
	}
	known := map[string]bool{}
	ledgers := 0
	for _, j := range list {
		known[j.ID] = true
		n, found := d.records(ctx, j.ID, remedy)
		ledgers += n
		out = append(out, found...)
	}
	for _, err := range jobdir.Disconnected(d.Jobs, list) {
		do := ""
		if we, ok := errors.AsType[*worktree.Error](err); ok {
			do = we.Remedy
		}
		out = append(out, Finding{Name: name, Status: Note, What: err.Error(), Do: do})
	}
	folders, _ := os.ReadDir(filepath.Join(d.Data, "jobs")) // there need not be any
	for _, f := range folders {
		if known[f.Name()] || jobdir.Removing(d.Data, f.Name()) { // the latter is in removals, with other advice
			continue
		}
		if _, err := os.Lstat(filepath.Join(d.Data, "jobs", f.Name(), jobdir.JobFile)); errors.Is(err, fs.ErrNotExist) {
			out = append(out, Finding{Name: name, Status: Note, What: "the folder of " + f.Name() + " is of a job that was never begun", Do: "the next " + hint.Command("jobs rm") + " or jobs prune removes it, a day after it was made"})
		} else {
			out = append(out, Finding{Name: name, Status: Note, What: "the folder of " + f.Name() + " has no job in the database", Do: hint.Command("jobs rm %s", f.Name()) + " removes it; if its database was lost, " + hint.Command("jobs undo %s", f.Name()) + " takes its changes back first"})
		}
	}
	if len(out) == 0 {
		out = append(out, Finding{Name: name, Status: Fine, What: "database and " + spelling.Plural(ledgers, "record") + " of changes"})
	}
	return out
}

// records reads the records of changes of a job, and counts them.
func (d *Doctor) records(ctx context.Context, id, remedy string) (count int, out []Finding) {
	const name = "check"
	count, own, faults := jobdir.VerifyLedgers(ctx, d.Jobs, id)
	if !own && d.RecordGone != nil {
		if gone, err := d.RecordGone(ctx, id); err != nil {
			faults = append(faults, &jobdir.RecordError{Err: err})
		} else if gone != "" {
			faults = append(faults, &jobdir.RecordError{Err: errors.New(gone)})
		}
	}
	for _, f := range faults {
		do := "undo of this job is incomplete; " + remedy
		if f.Copy != "" {
			do = "what that sub-agent changed may be brought back incompletely; " + remedy
		}
		out = append(out, Finding{Name: name, Status: Broken, What: fmt.Sprintf("%s: %v", id, f), Do: do})
	}
	return count, out
}
