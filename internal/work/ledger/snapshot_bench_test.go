package ledger_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// cpu returns the CPU time of this process and of its children that have ended.
func cpu() time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// BenchmarkCommandInALargeTree compares the CPU time for recording a command's changes among
// 50,000 files with git status there.
func BenchmarkCommandInALargeTree(b *testing.B) {
	base := b.TempDir()
	dir := filepath.Join(base, "ws")
	for i := range 500 {
		d := filepath.Join(dir, fmt.Sprintf("d%d", i))
		if err := os.MkdirAll(d, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 100 {
			if err := os.WriteFile(filepath.Join(d, fmt.Sprintf("f%d.txt", j)), fmt.Appendf(nil, "file %d of %d\n", j, i), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q")
	git("config", "gc.auto", "0")     // it would go on in the background, and be in the way of the removal
	time.Sleep(20 * time.Millisecond) // the index is to be younger than the files
	git("add", "-A")
	git("commit", "-qm", "all")
	git("status", "--porcelain")
	time.Sleep(2 * rootfs.ClockGranularity)
	var first, later, status time.Duration
	var kept int64
	command := func(led *ledger.Ledger) time.Duration {
		began := cpu()
		s, err := led.Snapshot(b.Context(), dir)
		if err == nil {
			_, err = s.Record(b.Context())
		}
		if err != nil {
			b.Fatal(err)
		}
		kept = led.Size()
		return cpu() - began
	}
	for b.Loop() {
		began := cpu()
		git("status", "--porcelain")
		status += cpu() - began
		led, err := ledger.Open(filepath.Join(base, fmt.Sprint("ledger", time.Now().UnixNano())), nil)
		if err != nil {
			b.Fatal(err)
		}
		first += command(led)
		later += command(led)
		led.Close()
	}
	b.ReportMetric(float64(first)/float64(status), "first/git-status")
	b.ReportMetric(float64(later)/float64(status), "later/git-status")
	b.ReportMetric(float64(kept), "bytes-kept")
	b.ReportMetric(float64(status.Milliseconds())/float64(b.N), "git-status-ms")
}
