package ledger_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A party is several participants who work in one tree: a job, a second job and a person. Each
// line is written only once and begins with its author.
type party struct {
	*testing.T
	rnd  *rand.Rand
	dir  string
	led  [2]*ledger.Ledger
	f    [2]*workspace.Files
	git  bool // the tree is a repository
	step int
	n    int
	// taken are lines of the person that the first job's tools removed.
	taken map[string]bool
	moved bool // somebody removed or renamed a file, with what the job made of it
	// copied are lines of the person that joining a sub-agent's copy brought to one
	// more file: to one that it had renamed while the person worked on under the old
	// name, or back after the person had removed them. They are the job's there.
	copied map[string]bool
}

func (p *party) line(who string) string {
	p.n++
	return fmt.Sprintf("%s wrote %d\n", who, p.n)
}

// files lists the regular files of the tree.
func (p *party) files() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(dirtest.Lines(p.T, p.dir))), func(name string) bool { return name == ".git" || strings.HasPrefix(name, ".git/") })
}

func (p *party) pick() string {
	names := p.files()
	if len(names) == 0 {
		dirtest.Write(p.T, filepath.Join(p.dir, "a"), p.line("the person"))
		return "a"
	}
	return names[p.rnd.IntN(len(names))]
}

// edited changes some lines of a text.
func (p *party) edited(text, who string) string {
	lines := strings.SplitAfter(text, "\n")
	lines = lines[:len(lines)-1]
	i := p.rnd.IntN(len(lines) + 1)
	switch p.rnd.IntN(5) {
	case 0, 1, 2:
		lines = slices.Insert(lines, i, p.line(who))
	case 3:
		if i < len(lines) {
			lines[i] = p.line(who)
		}
	case 4:
		if i < len(lines) && len(lines) > 3 {
			lines = slices.Delete(lines, i, i+1)
		}
	}
	return strings.Join(lines, "")
}

// scribbles changes the tree as a person or a command does: not through us.
func (p *party) scribbles(who string) {
	name := p.pick()
	at := filepath.Join(p.dir, name)
	k := p.rnd.IntN(12)
	p.moved = p.moved || k == 1 || k == 2
	switch k {
	case 0:
		dirtest.Write(p.T, filepath.Join(p.dir, fmt.Sprintf("new/%d", p.rnd.IntN(4))), p.line(who)+p.line(who))
	case 1:
		to := filepath.Join(p.dir, fmt.Sprintf("m%d", p.rnd.IntN(4)))
		if _, err := os.Lstat(to); err == nil { // it stands for a change of what is there
			for l := range strings.Lines(dirtest.Content(p.T, at)) {
				p.copied[strings.TrimSuffix(l, "\n")] = true
			}
		}
		_ = os.Rename(at, to)
	case 2:
		_ = os.Remove(at)
	case 3:
		if p.git {
			dirtest.Git(p.T, p.dir, "add", "-A")
		}
		dirtest.Must(p.T, os.Chmod(at, []fs.FileMode{0o600, 0o644, 0o755}[p.rnd.IntN(3)]))
	case 4:
		ln := filepath.Join(p.dir, fmt.Sprintf("ln%d", p.rnd.IntN(3)))
		_ = os.Remove(ln)
		_ = os.Symlink(name, ln)
	default:
		dirtest.Must(p.T, os.WriteFile(at, []byte(p.edited(dirtest.Content(p.T, at), who)), 0o644))
	}
}

// tools makes changes by job j through its tools; refused ones are not made.
func (p *party) tools(j int) {
	p.step++
	at := p.f[j].At(fmt.Sprint(p.step))
	name := p.pick()
	if links, _ := filepath.Glob(filepath.Join(p.dir, "ln*")); len(links) > 0 && p.rnd.IntN(3) == 0 {
		name = filepath.Base(links[p.rnd.IntN(len(links))]) // through a link, into what it leads to
	}
	before := p.persons()
	who := fmt.Sprint("job ", j)
	switch p.rnd.IntN(8) {
	case 0:
		_ = at.WriteFile(fmt.Sprintf("new/%d", p.rnd.IntN(4)), []byte(p.line(who)))
	case 1:
		_ = at.Rename(name, fmt.Sprintf("moved/%d", p.n))
	case 2:
		_, _ = at.ReadFile(name)
		_ = at.Remove(name)
	case 3:
		_ = at.WriteFile(name, []byte(p.line(who))) // with no look at what is there
	default:
		if old, err := at.ReadFile(name); err == nil {
			_ = at.WriteFile(name, []byte(p.edited(string(old), who)))
		}
	}
	if j == 0 {
		now := p.persons()
		for l := range before {
			p.taken[l] = p.taken[l] || now[l] == 0
		}
	}
}

// command has job j run a command during which others work. It may be killed,
// with the job; then others work on, somebody looks at the job, and it resumes.
func (p *party) command(j int) {
	p.step++
	snap, err := p.led[j].At(fmt.Sprint(p.step)).Snapshot(p.Context(), p.dir)
	dirtest.Must(p.T, err)
	for range 1 + p.rnd.IntN(3) {
		switch p.rnd.IntN(4) {
		case 0, 1:
			p.scribbles(fmt.Sprint("a command of job ", j))
		case 2:
			p.scribbles("the person")
		case 3:
			p.tools(1 - j)
		}
	}
	if p.rnd.IntN(3) > 0 {
		_, err := snap.Record(p.Context())
		dirtest.Must(p.T, err)
		return
	}
	dirtest.Must(p.T, p.led[j].Close())
	p.scribbles("the person")
	before := dirtest.Tree(p.T, p.led[j].Dir)
	reader, err := ledger.Open(p.led[j].Dir, overlay.Recover)
	dirtest.Must(p.T, err)
	_, err = reader.Steps(p.Context())
	dirtest.Must(p.T, err)
	_, err = reader.Diff(p.Context(), p.dir)
	dirtest.Must(p.T, err)
	if now := dirtest.Tree(p.T, p.led[j].Dir); !slices.Equal(before, now) {
		p.Errorf("looking at the job changed its ledger:\n%s", dirtest.Diff(before, now))
	}
	p.scribbles("the person")
	p.Open(j)
	dirtest.Must(p.T, p.led[j].Recover(p.Context()))
}

// Open opens the ledger of job j, and its files.
func (p *party) Open(j int) {
	home := filepath.Join(filepath.Dir(p.dir), fmt.Sprint("ledger", j))
	if p.f[j] != nil {
		p.f[j].Close()
	}
	var err error
	p.led[j], err = ledger.Open(home, overlay.Recover)
	dirtest.Must(p.T, err)
	p.f[j], err = workspace.Open(p.dir, p.led[j])
	dirtest.Must(p.T, err)
}

// subAgent has a sub-agent of the first job work in a copy, which is joined
// after the person has worked on.
func (p *party) subAgent() {
	p.step++
	branch := ""
	if p.git {
		branch = fmt.Sprint("b", p.step)
	}
	c := p.twinned(branch)
	whole := p.dir
	p.dir = c.Dir()
	for range 3 {
		p.scribbles("a sub-agent")
	}
	p.dir = whole
	p.scribbles("the person")
	before := p.persons()
	if _, err := c.Merge(p.Context(), p.f[0].At(fmt.Sprint(p.step))); err != nil {
		p.Fatal(err)
	}
	now := p.persons()
	for l := range before {
		p.taken[l] = p.taken[l] || now[l] == 0
	}
	for l := range now {
		p.copied[l] = p.copied[l] || now[l] > before[l]
	}
}

// persons returns the person's lines in the tree, and the number of files with each.
func (p *party) persons() map[string]int {
	found := map[string]int{}
	for name, lines := range dirtest.Lines(p.T, p.dir) {
		if strings.HasPrefix(name, ".git/") {
			continue
		}
		for _, l := range lines {
			if strings.HasPrefix(l, "the person") {
				found[l]++
			}
		}
	}
	return found
}

// undo undoes the first job, or a part of it, and checks the result.
func (p *party) undo(what string, part ledger.Selection, err error) {
	var none *ledger.StepError
	if errors.As(err, &none) {
		return // it changed nothing
	}
	dirtest.Must(p.T, err)
	before := p.persons()
	trees := dirtest.WorkTree(p.T, p.dir)
	diff, err := p.led[0].Diff(p.Context(), p.dir)
	dirtest.Must(p.T, err)
	for _, m := range regexp.MustCompile(`(?m)^\+(the person .*)$`).FindAllStringSubmatch(diff, -1) {
		if what == "all" && !p.copied[m[1]] && !strings.Contains(diff, "rename") && !strings.Contains(diff, "new file") {
			p.Errorf("the diff has a line of the person as the job's, %q:\n%s", m[1], diff)
		}
	}
	report, err := part.Undo(p.Context(), p.dir)
	dirtest.Must(p.T, err)
	after := p.persons()
	for l := range before {
		if after[l] == 0 && !p.copied[l] {
			p.Errorf("undo %s took %q: %+v\nbefore: %q\n after: %q\n%s", what, l, report, trees, dirtest.WorkTree(p.T, p.dir), p.journal())
		}
	}
	if what != "all" {
		return
	}
	for l, gone := range p.taken {
		if gone && after[l] == 0 && !p.moved && !p.copied[l] && len(report.Skipped) == 0 {
			p.Errorf("undo did not bring %q back, and skipped nothing: %+v\n%s", l, report, p.journal())
		}
	}
	again, err := p.led[0].Undo(p.Context(), p.dir)
	dirtest.Must(p.T, err)
	if len(again.Restored)+len(again.Removed) > 0 {
		p.Errorf("a second undo did %+v after %+v\n%s", again, report, p.journal())
	}
	if report.Step == "" {
		return
	}
	back, err := p.led[0].Step(p.Context(), report.Step)
	dirtest.Must(p.T, err)
	if _, err := back.Undo(p.Context(), p.dir); err != nil {
		p.Fatal(err)
	}
	now := p.persons()
	for l := range before {
		if now[l] == 0 && !p.copied[l] {
			p.Errorf("undoing the undo took %q\n%s", l, p.journal())
		}
	}
}

func (p *party) journal() string {
	return dirtest.Content(p.T, filepath.Join(p.led[0].Dir, "journal"))
}

// A person's last bytes survive any undo that does not include uncertain changes: for any actions
// of a job, a second job and a person, in any order, also through links, across kills and in
// sub-agents' copies. ADROIT_SEED is the first.
func TestUndoLeavesThePersonsWork(t *testing.T) {
	runs, first := testenv.Sample(24, 2000), testenv.Seed(t)
	for seed := first; seed < first+uint64(runs) && !t.Failed(); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			p := &party{T: t, rnd: rnd, dir: filepath.Join(t.TempDir(), "ws"), taken: map[string]bool{}, copied: map[string]bool{}}
			for i := range 5 {
				var text strings.Builder
				for j := range 3 + rnd.IntN(8) {
					fmt.Fprintf(&text, "line %d of file %d\n", j, i)
				}
				dirtest.Write(t, filepath.Join(p.dir, fmt.Sprintf("d%d/f%d", i%2, i)), text.String())
			}
			if p.git = rnd.IntN(3) == 0; p.git {
				dirtest.Git(t, p.dir, "init", "-q")
				dirtest.Git(t, p.dir, "add", "-A")
				dirtest.Git(t, p.dir, "commit", "-qm", "start")
				time.Sleep(2 * rootfs.ClockGranularity * time.Duration(rnd.IntN(2)))
			}
			p.Open(0)
			p.Open(1)
			defer func() {
				for j := range 2 {
					p.f[j].Close()
					p.led[j].Close()
				}
			}()
			for range 5 + rnd.IntN(15) {
				switch k := rnd.IntN(40); {
				case k < 16:
					p.tools(0)
				case k < 22:
					p.tools(1)
				case k < 32:
					p.scribbles("the person")
				case k < 37:
					p.command(rnd.IntN(2))
				case k < 38:
					p.subAgent()
				case p.step > 0:
					part, err := p.led[0].Step(t.Context(), fmt.Sprint(1+rnd.IntN(p.step)))
					p.undo("one step", part, err)
				}
			}
			if rnd.IntN(4) == 0 && p.step > 0 {
				part, err := p.led[0].From(t.Context(), fmt.Sprint(1+rnd.IntN(p.step)))
				p.undo("from a step", part, err)
			}
			p.undo("all", p.led[0].All(), nil)
		})
	}
}

// twinned makes a copy of the work tree.
func (p *party) twinned(branch string) *worktree.Copy {
	base := p.TempDir()
	c, err := worktree.AddCopy(p.Context(), worktree.CopyOptions{Dir: p.dir, Top: filepath.Join(base, "wt"), Branch: branch, Home: filepath.Join(base, "home")})
	dirtest.Must(p.T, err)
	return c
}
