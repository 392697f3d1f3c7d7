package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// BenchmarkTree compares the CPU time of a job that reads one file with git status, in a
// repository of 50,000 files.
func BenchmarkTree(b *testing.B) {
	job := newTreeJob(b, programIn(b), 50_000)
	for b.Loop() {
		status, ours := time.Hour, time.Hour
		for range 3 {
			status = min(status, cpuIn(b, job.command("git", "status")))
			ours = min(ours, cpuIn(b, job.command(job.bin, treeArgs...)))
		}
		b.ReportMetric(float64(ours.Milliseconds()), "ms-cpu")
		b.ReportMetric(float64(status.Milliseconds()), "ms-cpu-status")
		b.ReportMetric(float64(ours)/float64(status), "x-status")
	}
}

// TestTreeCalls bounds the calls of the system by which a job that reads one file looks at
// the files of its repository: no part looks at each, and once the cache has what the history
// has, a directory is opened once, and no git is started.
func TestTreeCalls(t *testing.T) {
	testenv.NeedsProgram(t, "strace")
	const files = 4000
	calls := func(job treeJob, names string) string {
		trace := filepath.Join(job.dir, "trace")
		cmd := job.command("strace", append([]string{"-f", "-qq", "-s", "300", "-e", "signal=none", "-o", trace, "-e", "trace=" + names, job.bin}, treeArgs...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	looks := func(job treeJob) int {
		return strings.Count(calls(job, "newfstatat,lstat,stat,statx,openat,openat2"), "\n")
	}
	bin := programIn(t)
	small, large := newTreeJob(t, bin, 100), newTreeJob(t, bin, 100+files)
	few, many := looks(small), looks(large)
	t.Logf("%d calls, %d with %d more files", few, many, files)
	if many-few > files/2 {
		t.Errorf("%d looks at %d more files: one walk of the tree takes the types from its directories", many-few, files)
	}
	time.Sleep(rootfs.ClockGranularity) // the directories are older than that
	few, many = looks(small), looks(large)
	t.Logf("%d calls, %d with %d more files in %d more directories, the second time", few, many, files, files/100)
	if many-few > 20*files/100 {
		t.Errorf("%d looks at %d more directories", many-few, files/100)
	}
	trace := calls(large, "execve")
	for line := range strings.Lines(trace) {
		if strings.Contains(line, `"ls-`) || strings.Contains(line, `"log"`) {
			t.Errorf("the second job asks git again: %s", line)
		}
	}
	if !strings.Contains(trace, "execve") {
		t.Error("no program is seen: nothing is tested")
	}
}

var treeArgs = []string{"run", "hand", "go", "-m", "script:../turns.yaml"}

// A treeJob is a repository with many files, and a job that reads one of them.
type treeJob struct{ dir, bin string }

// programIn builds the program.
func programIn(tb testing.TB) (bin string) {
	tb.Helper()
	bin = filepath.Join(tb.TempDir(), "adroit")
	if out, err := exec.Command("go", "build", "-o", bin, "github.com/adroit-run/adroit/cmd/adroit").CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

func newTreeJob(tb testing.TB, bin string, files int) treeJob {
	tb.Helper()
	dir := tb.TempDir()
	j := treeJob{dir, bin}
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range files {
		write(fmt.Sprintf("repo/d%d/s%d/f%d.go", i/2500, i/100%25, i%100), "package p\n")
	}
	write("turns.yaml", "turns:\n  - calls: [{name: read_file, args: {path: d0/s0/f0.go}}]\n  - text: DONE\n")
	write("home/.config/adroit/agents/hand.md", "---\nname: hand\ndescription: Does.\ntools: [read_file]\ndone: {signal: DONE}\n---\nDo.\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "all"}, {"status"}} {
		if out, err := j.command("git", args...).CombinedOutput(); err != nil {
			tb.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return j
}

func (j treeJob) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Join(j.dir, "repo")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(j.dir, "home"), "ADROIT_HOME=" + filepath.Join(j.dir, "data")}
	return cmd
}

// cpuIn runs a command and returns the CPU time that it and its own commands took.
func cpuIn(b *testing.B, cmd *exec.Cmd) time.Duration {
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
