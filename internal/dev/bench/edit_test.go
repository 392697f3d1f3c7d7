package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/builtin/edit"
	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// hands returns a tool's environment in a workspace with undo.
func hands(b *testing.B, dir string) *tools.Env {
	b.Helper()
	led, err := ledger.Open(filepath.Join(b.TempDir(), "ledger"), nil)
	if err != nil {
		b.Fatal(err)
	}
	files, err := workspace.Open(dir, led)
	if err != nil {
		b.Fatal(err)
	}
	ex := process.New(dir, filepath.Join(b.TempDir(), "logs"), nil)
	b.Cleanup(func() {
		if err := ex.Close(); err != nil {
			b.Error(err)
		}
		files.Close()
		led.Close()
	})
	return &tools.Env{Files: files, Exec: ex}
}

func use(b *testing.B, tool tools.Tool, env *tools.Env, in any) {
	b.Helper()
	args, err := json.Marshal(in)
	if err != nil {
		b.Fatal(err)
	}
	if r, err := tool.Run(context.Background(), env, args); err != nil || r.Failed {
		b.Fatalf("%v %s", err, r.Text)
	}
}

// A pattern is the arguments of search.
type pattern struct {
	Pattern string `json:"pattern"`
	Literal bool   `json:"literal,omitempty"`
	Max     int    `json:"max,omitempty"`
}

// BenchmarkSearch compares the search tool with ripgrep alone, on the source
// of golang.org/x/tools as the module cache has it.
func BenchmarkSearch(b *testing.B) {
	cmd := exec.Command("go", "mod", "download", "-json", "golang.org/x/tools@v0.30.0")
	cmd.Dir = b.TempDir()
	out, err := cmd.Output()
	var got struct{ Dir string }
	if e := json.Unmarshal(out, &got); e != nil || err != nil || got.Dir == "" {
		b.Skipf("golang.org/x/tools cannot be fetched here: %v", err)
	}
	env := hands(b, got.Dir)
	for _, c := range []struct {
		name string
		in   pattern
		args []string
	}{
		{"literal", pattern{Pattern: "WalkDir(", Literal: true}, []string{"-F", "WalkDir("}},
		{"regexp", pattern{Pattern: `func \(\w+ \*Server\) [A-Z]\w+`}, []string{`func \(\w+ \*Server\) [A-Z]\w+`}},
		{"many", pattern{Pattern: `\bunsafe\.Pointer\b`, Max: 1000}, []string{`\bunsafe\.Pointer\b`}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var ours, theirs time.Duration
			for b.Loop() {
				t0 := time.Now()
				use(b, partstest.Tool("search"), env, c.in)
				t1 := time.Now()
				rg := exec.Command("rg", append([]string{"--no-config", "--hidden", "--line-number", "-e"}, append(c.args[len(c.args)-1:], c.args[:len(c.args)-1]...)...)...)
				rg.Dir = got.Dir
				if out, err := rg.CombinedOutput(); err != nil {
					b.Fatalf("%v %.300s", err, out)
				}
				ours, theirs = ours+t1.Sub(t0), theirs+time.Since(t1)
			}
			ratio(b, ours, theirs)
		})
	}
}

// BenchmarkEdit compares edit_file, with the stale check, the ledger and the report, with writing
// the file and syncing it: the minimum cost of an edit that survives a power cut.
func BenchmarkEdit(b *testing.B) {
	for _, lines := range []int{300, 30_000} {
		b.Run(fmt.Sprintf("%d-lines", lines), func(b *testing.B) {
			dir := b.TempDir()
			name := filepath.Join(dir, "a.txt")
			text := strings.Repeat("a line of the usual length in a file\n", lines) + "the line = 0\n"
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
			env := hands(b, dir)
			plain := filepath.Join(b.TempDir(), "b.txt")
			var ours, theirs time.Duration
			for i := 0; b.Loop(); i++ {
				t0 := time.Now()
				use(b, edit.File, env, edit.Input{Path: "a.txt", Old: fmt.Sprintf("the line = %d\n", i), New: fmt.Sprintf("the line = %d\n", i+1)})
				t1 := time.Now()
				writeSync(b, plain, []byte(text))
				ours, theirs = ours+t1.Sub(t0), theirs+time.Since(t1)
			}
			ratio(b, ours, theirs)
		})
	}
}

func writeSync(b *testing.B, name string, data []byte) {
	f, err := os.Create(name)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
}

func ratio(b *testing.B, ours, theirs time.Duration) {
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
	b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "us/ours")
	b.ReportMetric(float64(theirs.Microseconds())/float64(b.N), "us/plain")
}
