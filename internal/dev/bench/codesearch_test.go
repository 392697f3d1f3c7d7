package bench

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/tools"
)

// BenchmarkCodeSearch compares search, list and outline on the source of Go,
// about 11,000 files, with ripgrep in the same run: CPU time of this
// process and its children, minimum of several.
func BenchmarkCodeSearch(b *testing.B) {
	testenv.NeedsProgram(b, "rg")
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "src")
	env := hands(b, dir)
	rg := func(args ...string) func() {
		return func() {
			cmd := exec.Command("rg", append([]string{"--no-config", "--hidden"}, args...)...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 1 {
				b.Fatalf("%v %.300s", err, out)
			}
		}
	}
	const literal, servers = "runtime_registerPoll", `func \(\w+ \*Server\) [A-Z]\w+`
	for _, c := range []struct {
		name string
		tool tools.Tool
		env  *tools.Env
		in   any
		rg   func()
	}{
		{"literal", partstest.Tool("search"), env, pattern{Pattern: "WalkDir(", Literal: true}, rg("-n", "-F", "WalkDir(")},
		{"regexp", partstest.Tool("search"), env, pattern{Pattern: servers}, rg("-n", "-e", servers)},
		{"none", partstest.Tool("search"), env, pattern{Pattern: literal + "X"}, rg("-n", literal+"X")},
		{"many", partstest.Tool("search"), env, pattern{Pattern: `\bunsafe\.Pointer\b`, Max: 1000}, rg("-n", `\bunsafe\.Pointer\b`)},
		{"list", partstest.Tool("list_files"), env, map[string]string{"glob": "**/*_test.go"}, rg("--files", "-g", "*_test.go")},
		{"definition-warm", partstest.Tool("definition"), env, map[string]string{"name": "WalkDir"}, rg("-n", "-w", "WalkDir")},
		{"references-warm", partstest.Tool("references"), env, map[string]string{"name": "WalkDir", "path": "path/filepath/path.go"}, rg("-n", "-w", "WalkDir")},
		{"outline-warm", partstest.Tool("outline"), env, map[string]string{"path": "net/http"}, rg("-n", "^(func|type|var|const)", "net/http")},
		{"map-warm", partstest.Tool("outline"), env, map[string]string{}, rg("-n", "^(func|type|var|const)")},
	} {
		b.Run(c.name, func(b *testing.B) {
			if strings.HasSuffix(c.name, "-warm") {
				t0, start := cpuTime(b), time.Now()
				use(b, c.tool, c.env, c.in)
				b.Logf("the first call: %v, CPU %v", time.Since(start), cpuTime(b)-t0)
				for range 12 { // a call for a name indexes for a second at most
					use(b, c.tool, c.env, c.in)
				}
			}
			ours, theirs := time.Hour, time.Hour
			for b.Loop() {
				for range 5 {
					t0 := cpuTime(b)
					use(b, c.tool, c.env, c.in)
					t1 := cpuTime(b)
					c.rg()
					ours, theirs = min(ours, t1-t0), min(theirs, cpuTime(b)-t1)
				}
			}
			b.ReportMetric(float64(ours)/float64(theirs), "x-rg-cpu")
			b.ReportMetric(float64(ours.Milliseconds()), "cpu-ms")
		})
	}
}

// cpuTime returns the CPU time of this process and of the children it waited for.
func cpuTime(b *testing.B) time.Duration {
	total := time.Duration(0)
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		if err := unix.Getrusage(who, &r); err != nil {
			b.Fatal(err)
		}
		total += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return total
}
