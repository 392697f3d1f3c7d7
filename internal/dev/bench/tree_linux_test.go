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
)

// BenchmarkTree compares the CPU time of a job that reads one file with git status, in a
// repository of 50,000 files.
func BenchmarkTree(b *testing.B) {
	job := newTreeJob(b, 50_000)
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
// the files of its repository: no part looks at each.
func TestTreeCalls(t *testing.T) {
	testenv.NeedsProgram(t, "strace")
	const files = 4000
	looks := func(files int) int {
		job := newTreeJob(t, files)
		trace := filepath.Join(job.dir, "trace")
		cmd := job.command("strace", append([]string{"-f", "-qq", "-o", trace, "-e", "trace=newfstatat,lstat,stat,statx", job.bin}, treeArgs...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	few, many := looks(100), looks(100+files)
	t.Logf("%d calls, %d with %d more files", few, many, files)
	if many-few > files/2 {
		t.Errorf("%d looks at %d more files: one walk of the tree takes the types from its directories", many-few, files)
	}
}

var treeArgs = []string{"run", "hand", "go", "-m", "script:../turns.yaml"}

// A treeJob is a repository with many files, and a job that reads one of them.
type treeJob struct{ dir, bin string }

func newTreeJob(tb testing.TB, files int) treeJob {
	tb.Helper()
	dir := tb.TempDir()
	j := treeJob{dir, filepath.Join(dir, "adroit")}
	if out, err := exec.Command("go", "build", "-o", j.bin, "github.com/adroit-run/adroit/cmd/adroit").CombinedOutput(); err != nil {
		tb.Fatalf("go build: %v\n%s", err, out)
	}
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
