package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// BenchmarkSyncs counts with strace the syncs of a turn of adroit run, and the writes to the database: those
// of a job with twenty such turns less those of a job with none. The workspace is synced by one syncfs for
// a command that changed something, and for no other.
func BenchmarkSyncs(b *testing.B) {
	testenv.NeedsProgram(b, "strace")
	bin := filepath.Join(b.TempDir(), "adroit")
	if out, err := exec.Command("go", "build", "-o", bin, "github.com/adroit-run/adroit/cmd/adroit").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	const turns = 20
	for name, call := range map[string]string{
		"read":          "{name: read_file, args: {path: a.txt, from: %d}}",
		"write":         `{name: write_file, args: {path: "%d.txt", content: x}}`,
		"command":       "{name: shell, args: {command: cat a.txt; echo %d}}",
		"command-write": "{name: shell, args: {command: echo %[1]d >%[1]d}}",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before, after := syncsOf(b, bin, call, 0), syncsOf(b, bin, call, turns)
				per := func(calls ...string) (n float64) {
					for _, c := range calls {
						n += float64(after[c]-before[c]) / turns
					}
					return n
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(per("fsync", "fdatasync", "syncfs"), "syncs/turn")
				b.ReportMetric(per("syncfs"), "syncfs/turn")
				b.ReportMetric(per("pwrite64"), "pwrites/turn")
			}
		})
	}
}

var syncCall = regexp.MustCompile(`(?m)^\d+ +(fsync|fdatasync|syncfs|pwrite64)\(`)

// syncsOf runs a job and returns how often it made each system call.
func syncsOf(b *testing.B, bin, call string, turns int) map[string]int {
	b.Helper()
	dir := b.TempDir()
	script := "turns:\n"
	for i := range turns {
		script += "  - calls: [" + fmt.Sprintf(call, i+1) + "]\n"
	}
	for name, text := range map[string]string{"turns.yaml": script + "  - text: DONE\n", "repo/a.txt": strings.Repeat("a\n", turns+1),
		"home/.config/adroit/agents/hand.md": "---\nname: hand\ndescription: Does.\ntools: [read_file, write_file, shell]\ndone: {signal: DONE}\n---\nDo.\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	trace := filepath.Join(dir, "trace")
	cmd := exec.Command("strace", "-f", "-qq", "-o", trace, "-e", "trace=fsync,fdatasync,syncfs,pwrite64", bin, "run", "hand", "go", "-m", "script:../turns.yaml", "--approve", "all")
	cmd.Dir = filepath.Join(dir, "repo")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "ADROIT_HOME=" + filepath.Join(dir, "data")}
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		b.Fatal(err)
	}
	calls := map[string]int{}
	for _, c := range syncCall.FindAllStringSubmatch(string(text), -1) {
		calls[c[1]]++
	}
	return calls
}
