package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/parts"
)

// Two strategies for a type of problem are sides of a comparison: jobs are assigned to
// them by their id, each side does what its strategy says, and adroit fix stats counts the
// sides apart, with intervals. Jobs whose problem has no such strategies do not count.
func TestStrategiesCompared(t *testing.T) {
	testenv.Long(t, "runs fifty jobs")
	t.Parallel()
	home, repo := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"problems/codegen.yaml": "detectors:\n  - {name: stale, pattern: stubs are out of date}\nstrategies:\n" +
			"  generate:\n    - run: touch stubs\n  wait:\n    - {retry: 1, wait: 1ms}\n    - escalate: Ask the platform team.\n",
		"config.yaml": "coordinator: {compare: {strategy: [generate, wait]}}\n",
	} {
		name = filepath.Join(home, ".config", "adroit", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{"HOME": home, "OLLAMA_HOST": "127.0.0.1:1", "ADROIT_SANDBOX": "off"}
	run := func(want int, args ...string) string { // -1: any exit code
		t.Helper()
		var out, stderr bytes.Buffer
		p := cli.Program{Parts: parts.All(), Stdout: &out, Stderr: &stderr, Getenv: func(key string) string { return env[key] }}
		if code := p.Run(t.Context(), args...); code != want && want >= 0 {
			t.Fatalf("adroit %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, out.String(), stderr.String())
		}
		return out.String()
	}
	fix := func(want int, args ...string) {
		run(want, append(append([]string{"fix", "-C", repo, "--escalate", "report", "--approve", "all"}, args...), "--", "test -f stubs || { echo stubs are out of date; exit 3; }")...)
		_ = os.Remove(filepath.Join(repo, "stubs")) // of the side that makes them
	}
	type side struct {
		Name             string
		Jobs             int
		Fixed, Escalated struct{ All, Well int }
	}
	var stats struct {
		Compared []struct {
			Name, Verdict string
			Sides         []side
		}
	}
	// By chance a side may have few; each has 20 of 200 as good as always.
	for n := 0; n < 200; n++ {
		fix(-1)
		if n%10 != 9 {
			continue
		}
		if err := json.Unmarshal([]byte(run(0, "fix", "stats", "--json")), &stats); err != nil {
			t.Fatal(err)
		}
		if len(stats.Compared) == 1 && len(stats.Compared[0].Sides) == 2 && stats.Compared[0].Sides[1].Jobs >= 20 {
			break
		}
	}
	if len(stats.Compared) != 1 || len(stats.Compared[0].Sides) != 2 {
		t.Fatalf("compared: %+v", stats.Compared)
	}
	c := stats.Compared[0]
	for _, s := range c.Sides {
		if want := map[string]int{"generate": s.Jobs, "wait": 0}[s.Name]; s.Fixed.Well != want || s.Escalated.Well != s.Jobs-want || s.Fixed.All != s.Jobs {
			t.Errorf("%+v", s)
		}
	}
	if !strings.Contains(c.Verdict, "fixed: ") || !strings.Contains(c.Verdict, " often with "+c.Sides[0].Name+" than with "+c.Sides[1].Name) {
		t.Errorf("the verdict is %q", c.Verdict)
	}
	text := run(0, "fix", "stats")
	for _, s := range c.Sides {
		if !strings.Contains(text, "comparison: strategy") || !strings.Contains(text, fmt.Sprintf("\n%-24s %5d  %d (", s.Name, s.Jobs, s.Fixed.Well)) {
			t.Errorf("the text does not show %+v:\n%s", s, text)
		}
	}
	// Who chooses, and whose problem has no strategy, is part of no comparison.
	fix(0, "--strategy", "generate")
	fix(1, "--strategy", "wait")
	run(1, "fix", "-C", repo, "--escalate", "report", "--", "no-such-program-x")
	if after := run(0, "fix", "stats"); !strings.Contains(after, c.Verdict) || strings.Count(after, fmt.Sprintf("%-24s %5d  ", c.Sides[0].Name, c.Sides[0].Jobs)) != 1 {
		t.Errorf("others count in the comparison:\n%s\nand before\n%s", after, text)
	}
}
