package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkStart compares the CPU time of commands that do next to nothing with a Go program that
// prints a line: the minimum of several runs, taken in turn. TestInit of cmd/adroit bounds
// allocations before main.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	hello, adroit := filepath.Join(dir, "hello"), filepath.Join(dir, "adroit")
	source := filepath.Join(dir, "hello.go")
	if err := os.WriteFile(source, []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	for bin, what := range map[string]string{hello: source, adroit: "github.com/adroit-run/adroit/cmd/adroit"} {
		if out, err := exec.Command("go", "build", "-o", bin, what).CombinedOutput(); err != nil {
			b.Fatalf("go build %s: %v\n%s", what, err, out)
		}
	}
	for _, args := range [][]string{{"version"}, {"--help"}, {"jobs"}} {
		b.Run(args[0], func(b *testing.B) {
			plain, ours := time.Hour, time.Hour
			for b.Loop() {
				for range 20 {
					plain = min(plain, cpuOf(b, dir, hello))
					ours = min(ours, cpuOf(b, dir, adroit, args...))
				}
			}
			b.ReportMetric(float64(ours.Microseconds())/1000, "ms-cpu")
			b.ReportMetric(float64(plain.Microseconds())/1000, "ms-cpu-hello")
			b.ReportMetric(float64(ours)/float64(plain), "x-hello")
		})
	}
}

// cpuOf runs a program and returns the CPU time that it took.
func cpuOf(b *testing.B, home, bin string, args ...string) time.Duration {
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), "ADROIT_HOME="+filepath.Join(home, "data"))
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
