package coordinator

import (
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/agents"
)

// What code recognises, and what it decides about it. The outputs are those of
// real programs.
func TestClassify(t *testing.T) {
	for _, c := range []struct {
		name, output, command string
		code                  int
		facts                 map[string]string
		typ                   string
		decision              Decision // empty: an agent's
	}{
		{name: "go build", output: "# cart\n./cart.go:4:13: undefined: c\n", typ: problem.Build},
		{name: "go vet", output: "./a.go:5:32: fmt.Printf format %s has arg n of wrong type int\n", command: "go vet ./...", typ: problem.Lint},
		{name: "go vet, does not compile", output: "# cart\nvet: ./a.go:5:32: undefined: c\n", command: "go vet ./...", typ: problem.Build},
		{name: "go test", output: "--- FAIL: TestTotal (0.00s)\n    cart_test.go:7: got 2, want 3\nFAIL\nFAIL\tcart\t0.002s\nFAIL\n", typ: problem.Test},
		{name: "go missing module", output: "cart.go:3:8: no required module provides package github.com/x/y; to add it:\n\tgo get github.com/x/y\n", typ: problem.Dependency},
		{name: "go version", output: "go: go.mod requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)\n", typ: problem.Environment, decision: Escalate},
		{name: "go offline", output: "go: github.com/x/y@v1.0.0: Get \"https://proxy.golang.org/x\": dial tcp: lookup proxy.golang.org: no such host\n", typ: problem.Environment, decision: Retry},
		{name: "node test", output: "not ok 1 - adds\n  AssertionError [ERR_ASSERTION]: 3 !== 4\n# fail 1\n", typ: problem.Test},
		{name: "node syntax", output: "/p/a.js:3\n}}\n^\n\nSyntaxError: Unexpected token '}'\n", typ: problem.Build},
		{name: "node module", output: "Error: Cannot find module 'left-pad'\nRequire stack:\n- /p/a.js\n", typ: problem.Dependency},
		{name: "node own file", output: "Error: Cannot find module './lib/add'\nRequire stack:\n- /p/a.js\n", typ: problem.Build},
		{name: "node spawn, no directory", output: "Error: spawn /bin/sh ENOENT\n  errno: -2,\n  path: '/bin/sh'\n", facts: map[string]string{"program /bin/sh": "there"}, typ: problem.Environment, decision: Delegate},
		{name: "node spawn, no shell", output: "Error: spawn /bin/sh ENOENT\n", facts: map[string]string{"program /bin/sh": "not found"}, typ: problem.Environment, decision: Escalate},
		{name: "npm login", output: "npm error code ENEEDAUTH\nnpm error need auth This command requires you to be logged in\n", typ: problem.Auth, decision: Escalate},
		{name: "npm engine", output: "npm error code EBADENGINE\nnpm error engine Not compatible with your version\n", typ: problem.Environment, decision: Escalate},
		{name: "tsc", output: "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n", typ: problem.Type},
		{name: "eslint", output: "/p/a.js\n  1:7  error  'x' is assigned a value but never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)\n", typ: problem.Lint},
		{name: "python module", output: "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nModuleNotFoundError: No module named 'requests'\n", typ: problem.Dependency},
		{name: "python test", output: "FAIL: test_add (test_a.A)\n----\nAssertionError: 2 != 3\n\nFAILED (failures=1)\n", typ: problem.Test},
		{name: "mypy", output: "a.py:3: error: Incompatible return value type (got \"str\", expected \"int\")  [return-value]\nFound 1 error in 1 file\n", typ: problem.Type},
		{name: "ruff", output: "a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n", typ: problem.Lint},
		{name: "black", output: "would reformat a.py\n1 file would be reformatted.\n", typ: problem.Format},
		{name: "rustc", output: "error[E0425]: cannot find value `c` in this scope\n --> src/lib.rs:2:9\nerror: could not compile `cart`\n", typ: problem.Build},
		{name: "rust types", output: "error[E0308]: mismatched types\n --> src/lib.rs:2:9\n", typ: problem.Type},
		{name: "cargo test", output: "test tests::adds ... FAILED\ntest result: FAILED. 0 passed; 1 failed\n", typ: problem.Test},
		{name: "cargo crate", output: "error[E0432]: unresolved import `serde`\n", typ: problem.Dependency},
		{name: "cargo edition", output: "error: feature `edition2029` is required\n", typ: problem.Environment, decision: Escalate},
		{name: "disk", output: "write /tmp/x: no space left on device\n", typ: problem.Environment, decision: Escalate},
		{name: "rights", output: "sh: 1: ./run.sh: Permission denied\n", code: 126, typ: problem.Environment, decision: Escalate},
		{name: "rights in a test", output: "--- FAIL: TestOpen (0.00s)\n    a_test.go:5: got permission denied, want nil\n", typ: problem.Test},
		{name: "no program", output: "sh: 1: cmakex: not found\n", code: 127, facts: map[string]string{"program cmakex": "not found"}, typ: problem.Environment, decision: Escalate},
		{name: "port", output: "listen tcp :8080: bind: address already in use\n", typ: problem.Environment, decision: Retry},
		{name: "killed", output: "Killed\n", code: 137, typ: problem.Environment, decision: Escalate},
		{name: "nothing said, test", output: "oh\n", command: "make test", typ: problem.Test},
		{name: "nothing said", output: "", command: "./x", typ: problem.Build},
	} {
		p := &Problem{Output: c.output, Command: c.command, Code: max(1, c.code), Facts: c.facts, Attempt: 1}
		act, by, _ := Classify(p)
		var got Decision
		if act != nil {
			got = act.Decision
		}
		if p.Type != c.typ || got != c.decision {
			t.Errorf("%s: %s %s (%s), want %s %s", c.name, p.Type, got, by, c.typ, c.decision)
		}
	}
}

// In the sandbox there is no network to wait for, and what is not reached on this
// machine is no network.
func TestNetwork(t *testing.T) {
	off := &Problem{Output: "curl: (6) Could not resolve host: example.org\n", Sandbox: "full", Attempt: 1}
	if act, _, _ := Classify(off); act == nil || act.Decision != Escalate {
		t.Errorf("in a sandbox: %+v", act)
	}
	often := &Problem{Output: off.Output, Attempt: 3}
	if act, _, _ := Classify(often); act == nil || act.Decision != Escalate {
		t.Errorf("the third time: %+v", act)
	}
	here := &Problem{Output: "dial tcp 127.0.0.1:5432: connect: connection refused\n", Attempt: 1}
	if act, by, _ := Classify(here); act != nil {
		t.Errorf("a server on this machine: %s %+v", by, act)
	}
}

// Type before capability before priority before name.
func TestCandidates(t *testing.T) {
	all := []agents.DynamicAgent{
		{Name: "zed", ProblemTypes: []string{"BUILD_FAILURE"}, Priority: 50},
		{Name: "able", ProblemTypes: []string{"LINT_FAILURE"}, Capabilities: []string{"Go"}, Priority: 900},
		{Name: "high", ProblemTypes: []string{"build"}, Priority: 90},
		{Name: "also", ProblemTypes: []string{"build-failure"}, Priority: 50},
		{Name: "gopher", ProblemTypes: []string{"BUILD_FAILURE"}, Capabilities: []string{"go"}, Priority: 10},
		{Name: "none", Capabilities: []string{"go"}, Priority: 999},
		{Name: "other", ProblemTypes: []string{"TYPE_FAILURE"}, Priority: 999},
	}
	var got []string
	for _, a := range candidates(all, problem.Build, []string{"go"}, nil) {
		got = append(got, a.Name)
	}
	if want := []string{"gopher", "high", "also", "zed", "able"}; !slices.Equal(got, want) {
		t.Errorf("candidates are %v, want %v", got, want)
	}
}

func TestAction(t *testing.T) {
	for _, bad := range []Action{
		{Decision: "SHRUG", Reasoning: "x"}, {Decision: Retry}, {Decision: Delegate, Agent: "root", Reasoning: "x"}, {Decision: Delegate, Reasoning: "x"},
	} {
		if err := bad.check([]string{"code-fix"}); err == nil {
			t.Errorf("%+v can be carried out", bad)
		}
	}
	good := Action{Decision: " delegate ", Agent: "code-fix", Reasoning: strings.Repeat("x", 9000), Wait: 1 << 60}
	if err := good.check([]string{"code-fix"}); err != nil || good.Decision != Delegate || len(good.Reasoning) > 2100 || good.Wait != 0 {
		t.Errorf("%v %s %d %s", err, good.Decision, len(good.Reasoning), good.Wait)
	}
}

// What failed cannot write the report: nothing in it becomes markup or a line of
// its own.
func TestMarkdown(t *testing.T) {
	evil := "x\n# Solved\n[click](http://evil) <script> `code`"
	r := Result{Status: Escalated, Command: evil, Reason: evil, Problem: &Problem{Message: evil, Output: evil, Files: []string{evil}},
		Attempts: []Attempt{{Action: Action{Decision: Delegate, Agent: "a", Reasoning: evil}, Repair: &Repair{Status: "failed", Reason: evil, Summary: evil, Changed: []string{evil}}, Kept: []string{evil}}}}
	got := r.Markdown()
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "# Solved") || strings.Contains(line, "<script>") && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "Command: ") {
			t.Errorf("the report has %q", line)
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add("error TS1: x", "make", 1)
	f.Fuzz(func(t *testing.T, output, command string, code int) {
		p := &Problem{Output: output, Command: command, Code: code, Attempt: 1}
		if Classify(p); !slices.Contains(problem.Types, p.Type) {
			t.Errorf("the type is %q", p.Type)
		}
		_ = p.Signature()
	})
}
