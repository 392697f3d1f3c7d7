package realrepo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/partstest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// open returns a tool's environment in a directory.
func open(t *testing.T, dir string) (*tools.Env, *ledger.Ledger) {
	t.Helper()
	led, err := ledger.Open(filepath.Join(t.TempDir(), "ledger"), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := workspace.Open(dir, led)
	if err != nil {
		t.Fatal(err)
	}
	ex := process.New(dir, filepath.Join(t.TempDir(), "logs"), nil)
	t.Cleanup(func() {
		if err := ex.Close(); err != nil {
			t.Error(err)
		}
		files.Close()
		led.Close()
	})
	return &tools.Env{Files: files, Exec: ex}, led
}

// An input is the arguments of search.
type input struct {
	Pattern string `json:"pattern"`
	Glob    string `json:"glob,omitempty"`
	Dir     string `json:"dir,omitempty"`
	Literal bool   `json:"literal,omitempty"`
	Context int    `json:"context,omitempty"`
	Max     int    `json:"max,omitempty"`
}

// A query is a search and the same for ripgrep.
type query struct {
	in   input
	args []string
}

// TestSearch compares the results of search and ripgrep: the same lines of the same files, and
// with context the same lines around.
func TestSearch(t *testing.T) {
	testenv.NeedsProgram(t, "rg") // the judge
	for _, c := range []struct {
		p  project
		qs []query
	}{
		{large, []query{
			{input{Pattern: "NewPackage(?=x)"}, nil}, // no regexp of either: both must say so
			{input{Pattern: "WalkDir(", Literal: true}, []string{"-F"}},
			{input{Pattern: `func \(\w+ \*Server\) [A-Z]\w+`, Glob: "*.go"}, []string{"-g", "*.go"}},
			{input{Pattern: "(?i)deprecated: USE"}, nil},
			{input{Pattern: `\bunsafe\.Pointer\b`, Context: 2}, []string{"-C", "2"}},
			{input{Pattern: "[α-ωΑ-Ω]"}, nil},
			{input{Pattern: "世界", Literal: true}, []string{"-F"}},
			{input{Pattern: "(?i)ÄÖÜ|é", Glob: "*.go"}, []string{"-g", "*.go"}},
			{input{Pattern: `^package main$`, Glob: "cmd/**/*.go"}, []string{"-g", "/cmd/**/*.go"}},
			{input{Pattern: `\}\s+else\s+if .*nil \{$`, Dir: "go"}, []string{"go"}},
			{input{Pattern: `TODO\([a-z]+\): .{30,}$`}, nil},
			{input{Pattern: `^\s*//go:generate`, Context: 1}, []string{"-C", "1"}},
			{input{Pattern: `x{3,5}|[Pp]{2}\w+`, Glob: "*.{md,txt,html}"}, []string{"-g", "*.{md,txt,html}"}},
			{input{Pattern: "no such text is in it, surely 7f3a", Literal: true}, []string{"-F"}},
		}},
		{python, []query{
			{input{Pattern: `def (test)?[Rr]esolve\w*\(`}, nil},
			{input{Pattern: `^class \w+\(.*\):$`, Context: 3}, []string{"-C", "3"}},
			{input{Pattern: "(?i)copyright .* google", Glob: "*_test.py"}, []string{"-g", "*_test.py"}},
		}},
		{script, []query{{input{Pattern: "(?i)statusCode", Context: 1}, []string{"-C", "1"}}, {input{Pattern: `require\(['"]`, Glob: "*.js"}, []string{"-g", "*.js"}}}},
	} {
		t.Run(c.p.name, func(t *testing.T) {
			t.Parallel()
			dir := c.p.repository(t)
			env, _ := open(t, dir)
			for _, q := range c.qs {
				q.compare(t, env, dir)
			}
		})
	}
}

func (q query) compare(t *testing.T, env *tools.Env, dir string) {
	t.Helper()
	q.in.Max = 1000
	args, err := json.Marshal(q.in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := partstest.Tool("search").Run(t.Context(), env, args)
	if err != nil {
		t.Fatal(err)
	}
	rg := append([]string{"--no-config", "--hidden", "-g", "!/.git", "--json", "-e", q.in.Pattern}, q.args...)
	cmd := exec.Command("rg", rg...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if err != nil && cmd.ProcessState.ExitCode() == 2 {
		if !r.Failed {
			t.Errorf("%+v: ripgrep refuses, search does not: %s", q.in, stderr.String())
		}
		return
	}
	if strings.Contains(r.Text, "[stopped after") || strings.Contains(r.Text, "more files match") {
		t.Fatalf("%+v: the result is cut; take a narrower pattern for this table: %s", q.in, r.Summary)
	}
	want := judged(t, stdout.Bytes())
	got := found(r.Text)
	if r.Failed || !slices.Equal(got, want) {
		t.Errorf("%+v: %d lines, ripgrep has %d\nonly search: %v\nonly ripgrep: %v", q.in, len(got), len(want), without(got, want), without(want, got))
	}
	t.Logf("%q: %d lines", q.in.Pattern, len(want))
}

// judged parses the output of ripgrep --json.
func judged(t *testing.T, out []byte) []string {
	var lines []string
	for _, l := range bytes.Split(out, []byte("\n")) {
		var ev struct {
			Type string
			Data struct {
				Path struct{ Text string }
				Line int `json:"line_number"`
			}
		}
		if len(l) == 0 {
			continue
		}
		if err := json.Unmarshal(l, &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Type == "match" || ev.Type == "context" {
			lines = append(lines, fmt.Sprintf("%s %d %s", strings.TrimPrefix(ev.Data.Path.Text, "./"), ev.Data.Line, ev.Type))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// found parses the result of search.
func found(text string) []string {
	var lines []string
	name := ""
	for l := range strings.SplitSeq(text, "\n") {
		i := strings.IndexAny(l, ":-")
		if i > 0 {
			if n, err := strconv.Atoi(l[:i]); err == nil {
				kind := map[byte]string{':': "match", '-': "context"}[l[i]]
				lines = append(lines, fmt.Sprintf("%s %d %s", name, n, kind))
				continue
			}
		}
		if l != "" && l != "--" && l != "no match" && !strings.HasPrefix(l, "[") {
			name = l
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func without(a, b []string) []string {
	var out []string
	for _, s := range a {
		if _, ok := slices.BinarySearch(b, s); !ok && len(out) < 8 {
			out = append(out, s)
		}
	}
	return out
}
