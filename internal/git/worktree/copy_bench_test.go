package worktree

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// BenchmarkCopy compares copying 10,000 files, twenty of them not committed, and joining thirty
// changed ones, which removes the copy, with git worktree add and remove of the same repository in
// the same run, also in disk usage.
func BenchmarkCopy(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "repo")
	put := func(at, text string) {
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(rootfs.Environ(os.Environ(), nil), "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for i := range 10_000 {
		text := fmt.Sprintf("package p%d\n", i)
		for j := range 40 + i%100 {
			text += fmt.Sprintf("// line %d of file %d\n", j, i)
		}
		put(filepath.Join(dir, fmt.Sprintf("d%d/e%d/f%d.go", i%20, i%400/20, i)), text)
	}
	git("init", "-q", "-b", "main")
	git("config", "gc.auto", "0")
	git("add", ".")
	git("commit", "-qm", "all")
	git("gc", "-q")
	for i := range 20 {
		put(filepath.Join(dir, fmt.Sprintf("d0/e0/f%d.go", i*400)), "not committed\n")
	}
	used := func(dir string) (bytes int64) {
		_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if info, statErr := d.Info(); err == nil && statErr == nil {
				bytes += (info.Size() + 4095) &^ 4095
			}
			return nil
		})
		return bytes
	}
	var add, join, plain, remove time.Duration
	var ours, gits int64
	led, err := ledger.Open(filepath.Join(b.TempDir(), "ledger"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer led.Close()
	f, err := workspace.Open(dir, led)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	n := 0
	for b.Loop() {
		n++
		base := b.TempDir()
		began := time.Now()
		git("worktree", "add", "-q", "-b", fmt.Sprintf("b%d", n), filepath.Join(base, "git"))
		plain += time.Since(began)
		gits = used(filepath.Join(base, "git"))
		began = time.Now()
		c, err := AddCopy(b.Context(), CopyOptions{Dir: dir, Top: filepath.Join(base, "wt"), Branch: fmt.Sprintf("adroit/J/w%d", n), Home: filepath.Join(base, "home")})
		if err != nil {
			b.Fatal(err)
		}
		add += time.Since(began)
		ours = used(c.Tree.Top) + used(c.home)
		for i := range 30 {
			put(filepath.Join(c.Dir(), fmt.Sprintf("d%d/e0/f%d.go", i%20, i*400+i%20)), fmt.Sprintf("there %d\n", n))
		}
		began = time.Now()
		j, err := c.Merge(b.Context(), f.At(fmt.Sprint(n)))
		if err != nil || len(j.Paths)+len(j.Conflicts) < 20 {
			b.Fatalf("%+v, %v", j, err)
		}
		join += time.Since(began)
		began = time.Now()
		git("worktree", "remove", "--force", filepath.Join(base, "git"))
		remove += time.Since(began)
	}
	per := func(d time.Duration) float64 { return float64(d.Milliseconds()) / float64(n) }
	b.ReportMetric(per(add), "add-ms")
	b.ReportMetric(per(join), "join-ms")
	b.ReportMetric(per(plain), "git-add-ms")
	b.ReportMetric(per(remove), "git-remove-ms")
	b.ReportMetric(float64(add)/float64(plain), "times-git-add")
	b.ReportMetric(float64(add+join)/float64(plain+remove), "times-git")
	b.ReportMetric(float64(ours)/float64(gits), "times-git-disk")
}
