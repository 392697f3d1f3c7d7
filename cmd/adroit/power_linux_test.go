package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dirtest"
	"github.com/adroit-run/adroit/internal/sqlite"
	"github.com/adroit-run/adroit/internal/testenv"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// powerTurns are commands that write, lengthen and make files below new directories,
// and calls of file tools.
const powerTurns = `turns:
  - calls: [{name: write_file, args: {path: a.txt, content: "a1\n"}}]
  - calls: [{name: shell, args: {command: "echo 1 >>log; yes 1 | head -c 30000 >big1; mkdir -p d/1; echo z >d/1/z"}}]
  - calls: [{name: shell, args: {command: "echo 2 >>log; yes 2 | head -c 30000 >big2; mkdir -p d/2; echo z >d/2/z"}}]
  - calls: [{name: write_file, args: {path: b.txt, content: "b1\n"}}]
  - calls: [{name: shell, args: {command: "echo 3 >>log; yes 3 | head -c 30000 >big3; mkdir -p d/3; echo z >d/3/z"}}]
  - calls: [{name: finish, args: {summary: Done.}}]
`

const powerAgent = "---\ndescription: Edits.\ntools: [read_file, write_file, shell, finish]\ndone: {signal: DONE}\n---\nYou edit.\n"

// A disk is a file system in an image.
type disk struct {
	t         *testing.T
	image, at string
}

func newDisk(t *testing.T, at string) *disk {
	t.Helper()
	d := &disk{t, filepath.Join(t.TempDir(), "image"), at}
	dirtest.Must(t, os.WriteFile(d.image, nil, 0o600))
	dirtest.Must(t, os.Truncate(d.image, 48<<20))
	d.do("mke2fs", "-q", "-t", "ext4", "-F", d.image)
	dirtest.Must(t, os.MkdirAll(at, 0o755))
	d.mount()
	t.Cleanup(func() { dirtest.Must(t, unix.Unmount(at, unix.MNT_DETACH)) })
	return d
}

func (d *disk) do(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func (d *disk) mount() {
	d.t.Helper()
	d.do("mount", "-o", "loop", d.image, d.at)
}

func (d *disk) sync() {
	d.t.Helper()
	f, err := os.Open(d.at)
	dirtest.Must(d.t, err)
	defer f.Close()
	dirtest.Must(d.t, unix.Syncfs(int(f.Fd())))
}

// copy copies the image as it is: without what the kernel has not written to it.
func (d *disk) copy() {
	d.t.Helper()
	d.do("cp", "--sparse=always", d.image, d.image+".cut")
}

// cut puts the copy in the place of the disk.
func (d *disk) cut() {
	d.t.Helper()
	dirtest.Must(d.t, unix.Unmount(d.at, unix.MNT_DETACH))
	d.image += ".cut"
	d.mount()
}

// TestPower cuts the power of jobs at their points: the job is killed, and what the
// kernel has not written by then is lost. The job can be opened, the files of finished
// steps are there and whole, it goes on, and is undone. The data lies on the disk of the
// workspace or on another, and the commands are confined or not.
//
// It cuts a sample; with ADROIT_KILL_POINTS=all, as in make power, at every point.
func TestPower(t *testing.T) {
	if testing.Short() {
		t.Skip("mounts file systems; run it without -short")
	}
	testenv.NeedsProgram(t, "mke2fs", "mount", "cp")
	if why := noMounts(t); why != "" {
		testenv.Missing(t, "images cannot be mounted here: "+why)
	}
	bin := program(t)
	all := os.Getenv("ADROIT_KILL_POINTS") == "all"
	rnd := rand.New(rand.NewPCG(testenv.Seed(t), 9))
	configs := []struct {
		disks   int
		sandbox string
	}{{2, "auto"}, {1, "off"}, {2, "off"}, {1, "auto"}}
	if !all {
		configs = configs[:3]
	}
	cuts := 0
	for _, c := range configs {
		for n := 1; ; n++ {
			if !all {
				n = 1 + rnd.IntN(100)
			}
			killed := false
			t.Run(fmt.Sprintf("%d disks, sandbox %s, point %d", c.disks, c.sandbox, n), func(t *testing.T) {
				killed = powerCut(t, bin, c.disks, c.sandbox, n)
				cuts++
			})
			if !killed || !all {
				break
			}
		}
	}
	t.Logf("%d cuts", cuts)
}

func noMounts(t *testing.T) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	dirtest.Must(t, os.WriteFile(image, nil, 0o600))
	dirtest.Must(t, os.Truncate(image, 1<<20))
	at := t.TempDir()
	if out, err := exec.Command("mke2fs", "-q", "-F", image).CombinedOutput(); err != nil {
		return string(out)
	}
	if out, err := exec.Command("mount", "-o", "loop", image, at).CombinedOutput(); err != nil {
		return strings.TrimSpace(string(out))
	}
	dirtest.Must(t, unix.Unmount(at, 0))
	return ""
}

func powerCut(t *testing.T, bin string, n int, sandbox string, point int) (killed bool) {
	dir := t.TempDir()
	var disks []*disk
	if n == 1 {
		disks = append(disks, newDisk(t, dir))
	} else {
		disks = append(disks, newDisk(t, filepath.Join(dir, "repo")), newDisk(t, filepath.Join(dir, "data")))
	}
	p := newPlaceIn(t, dir, map[string]string{"home/.config/adroit/agents/editor.md": powerAgent, "turns.yaml": powerTurns, "repo/log": "0\n"})
	p.bin = bin
	for _, d := range disks {
		d.sync()
	}
	killed, _ = p.kill(point, 0, "run", "editor", "edit", "-m", "script:../turns.yaml", "--approve", "all", "--sandbox", sandbox)
	for _, d := range disks {
		d.copy()
	}
	for _, d := range disks {
		d.cut()
	}
	id, finished := p.finishedSteps()
	if id == "" {
		return killed // the job had not been acknowledged
	}
	for name, want := range finished {
		if got := p.read("repo/" + name); !strings.HasPrefix(got, want) {
			t.Errorf("%s of a finished step has %d bytes, %d of them zeros, and begins with %.20q; want %.20q", name, len(got), strings.Count(got, "\x00"), got, want)
		}
	}
	p.ok(0, "jobs", "show", id)
	if killed {
		if out := p.ok(0, "jobs", "resume", id); strings.Contains(out, "not as its finished steps left them") {
			t.Errorf("resume misses files: %s", out)
		}
	}
	p.ok(0, "jobs", "diff", id)
	if log := p.read("repo/log"); strings.Contains(log, "\x00") {
		t.Errorf("the log has zeros: %q", log)
	} else {
		for _, line := range []string{"1", "2", "3"} {
			if strings.Count(log, line+"\n") > 1 {
				t.Errorf("a command ran twice: %q", log)
			}
		}
	}
	p.ok(0, "jobs", "undo", "--include-uncertain", id)
	p.ok(0, "jobs", "rm", "--force", id)
	return killed
}

// finishedSteps are the job and what files have at least, by its finished steps.
func (p *place) finishedSteps() (id string, files map[string]string) {
	p.t.Helper()
	if _, err := os.Stat(p.path("data/adroit.db")); err != nil {
		return "", nil
	}
	db, err := sqlite.Open(p.t.Context(), p.path("data/adroit.db"), sqlite.Options{})
	dirtest.Must(p.t, err)
	defer func() { dirtest.Must(p.t, db.Close()) }()
	list, err := db.List(p.t.Context(), jobs.Query{})
	dirtest.Must(p.t, err)
	if len(list) == 0 {
		return "", nil
	}
	files = map[string]string{"log": "0\n"}
	shells, writes := 0, 0
	for ev, err := range db.Events(p.t.Context(), list[0].ID, 0, false) {
		dirtest.Must(p.t, err)
		switch {
		case ev.Kind != event.StepFinished:
		case ev.Name == "write_file":
			name := [...]string{"a", "b"}[writes]
			files[name+".txt"] = name + "1\n"
			writes++
		case ev.Name == "shell":
			shells++
			files["log"] += fmt.Sprintf("%d\n", shells)
			files[fmt.Sprintf("big%d", shells)] = string(bytes.Repeat(fmt.Appendf(nil, "%d\n", shells), 15000))
			files[fmt.Sprintf("d/%d/z", shells)] = "z\n"
		}
	}
	return list[0].ID, files
}
