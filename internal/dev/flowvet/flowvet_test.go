package flowvet_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/adroit-run/adroit/internal/dev/flowvet"
)

func TestAnalyzer(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), flowvet.Analyzer,
		"example.com/clocks", "example.com/order", "example.com/helper", "example.com/calls", "example.com/ignore")
}

// tool builds cmd/flowvet. make vet runs it over this module.
func tool(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "flowvet")
	if out, err := exec.Command("go", "build", "-o", bin, "../../../cmd/flowvet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// TestTool runs the program as go vet does, and by itself, on a small module
// whose workflow calls a package that reads the clock.
func TestTool(t *testing.T) {
	bin, dir := tool(t), t.TempDir()
	stub, err := os.ReadFile("testdata/src/github.com/adroit-run/adroit/pkg/flow/flow.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":           "module github.com/adroit-run/adroit\n\ngo 1.26\n",
		"pkg/flow/flow.go": string(stub),
		"stamp/stamp.go":   "package stamp\n\nimport \"time\"\n\nfunc Now() time.Time { return time.Now() }\n",
		"good/good.go":     "package good\n\nimport \"github.com/adroit-run/adroit/pkg/flow\"\n\nfunc W(r *flow.Run) error { return r.Note(\"x\") }\n",
		"bad/bad.go": "package bad\n\nimport (\n\t\"github.com/adroit-run/adroit/pkg/flow\"\n\t\"github.com/adroit-run/adroit/stamp\"\n)\n\n" +
			"func W(r *flow.Run) error { return r.Note(stamp.Now().String()) }\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"go", "vet", "-vettool=" + bin}, {bin}} {
		run := func(pkg string) (string, error) {
			cmd := exec.Command(args[0], append(args[1:len(args):len(args)], pkg)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		if out, err := run("./good"); err != nil {
			t.Errorf("%s ./good: %v\n%s", args[0], err, out)
		}
		want := "bad.go:8:49: stamp.Now, which uses time.Now (stamp.go:5), in workflow code: a replay reads another time; " +
			"take the time from a step, and wait with flow.Sleep"
		if out, err := run("./..."); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s ./...: %v, want %q in\n%s", args[0], err, want, out)
		}
	}
}
