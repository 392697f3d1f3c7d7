package coordinator

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
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
		{name: "npm ls", output: "npm error code ELSPROBLEMS\nnpm error missing: left-pad@1.3.0, required by x@1.0.0\n", typ: problem.Dependency},
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
		{name: "no script, sh", output: "sh: 0: cannot open nope.sh: No such file\n", command: "sh nope.sh", code: 2, typ: problem.Environment, decision: Escalate},
		{name: "no script, bash", output: "bash: ./x/n.sh: No such file or directory\n", command: "bash ./x/n.sh", code: 127, facts: map[string]string{"program ./x/n.sh": "not found"}, typ: problem.Environment, decision: Escalate},
		{name: "no script, python", output: "/usr/bin/python3: can't open file '/p/none.py': [Errno 2] No such file or directory\n", command: "python3 none.py", code: 2, typ: problem.Environment, decision: Escalate},
		{name: "no script, ruby", output: "ruby: No such file or directory -- none.rb (LoadError)\n", command: "ruby none.rb", typ: problem.Environment, decision: Escalate},
		{name: "no script, perl", output: "Can't open perl script \"none.pl\": No such file or directory\n", command: "perl none.pl", code: 2, typ: problem.Environment, decision: Escalate},
		{name: "no script of a makefile", output: "python3: can't open file '/p/gen.py': [Errno 2] No such file or directory\nmake: *** [Makefile:2: all] Error 2\n", command: "make all", code: 2, typ: problem.Build},
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

// What a failing test, a compiler or a linter writes of the machine is no fact about
// it, in whatever form it is printed; the same words of a program of the machine are.
func TestWordsOfTests(t *testing.T) {
	words := []string{
		"401 Unauthorized", "https://x.example/a: 401 Unauthorized", "npm error code ENEEDAUTH", "no space left on device", "ENOSPC: no space left on device, write",
		"MemoryError", "cannot allocate memory", "listen tcp :80: bind: address already in use", "database is locked", "requires Python >=3.12",
		"open /etc/x: permission denied", "dial tcp 10.0.0.1:80: i/o timeout", "lookup x.example: no such host", "failed to fetch https://x.example/a",
		"user: not found", "status: 404: not found", "sh: 1: cmake: not found", "spawn git ENOENT", `exec: "ffmpeg": executable file not found in $PATH`,
		"FileNotFoundError: [Errno 2] No such file or directory: 'settings'", "Cannot find module 'left-pad'", "ModuleNotFoundError: No module named 'requests'",
		"no required module provides package github.com/x/y", "CONFLICT: both have changed it",
	}
	tests := map[string]string{
		"go":       "--- FAIL: TestA (0.00s)\n    a_test.go:9: %s\nFAIL\nFAIL\tshop\t0.003s\nFAIL\n",
		"go, log":  "%s\n--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tshop\t0.003s\nFAIL\n",
		"pytest":   "    def test_a():\n>       f()\nE       AssertionError: %[1]s\n\ntest_a.py:3: AssertionError\n----- Captured stdout call -----\n%[1]s\n=== 1 failed, 2 passed in 0.02s ===\n",
		"jest":     "FAIL src/a.test.js\n  ● cart › status\n\n    %[1]s\n\n  console.log\n%[1]s\n\nTests:       1 failed, 2 passed, 3 total\n",
		"cargo":    "test tests::a ... FAILED\n---- tests::a stdout ----\n%s\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\n",
		"node":     "✖ status (0.9ms)\n  Error: %s\nℹ tests 2\nℹ pass 1\nℹ fail 1\n",
		"rspec":    "  1) Cart adds\n     Failure/Error: %s\n\n2 examples, 1 failure\n\nrspec ./spec/a_spec.rb:4 # Cart adds\n",
		"maven":    "[ERROR] CartTest.status:9 %s\n[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0\n",
		"TAP":      "1..2\nok 1 adds\nnot ok 2 waves\n# %s\n",
		"unittest": "%s\nF.\n======\nFAIL: test_a (t.A)\n------\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n",
	}
	for name, form := range tests {
		for _, w := range words {
			p := &Problem{Output: strings.ReplaceAll(strings.ReplaceAll(form, "%[1]s", w), "%s", w), Command: "make test", Code: 2, Attempt: 1, Facts: map[string]string{"program cmake": "not found"}}
			if act, by, _ := Classify(p); act != nil || p.Type != problem.Test {
				t.Errorf("%s prints %q: %s %s %+v", name, w, p.Type, by, act)
			}
		}
	}
	code := []string{
		"./a.go:3:9: undefined: ErrX // %s\n", "src/a.c:3:1: error: expected ';' near \"%s\"\n    3 |   puts(\"%[1]s\")\n      |   ^\n", "src/a.ts(3,7): error TS2322: Type '\"%s\"' is not assignable.\n",
		"/w/a.js:3\nthrow new Error('%s'\n      ^\n\nSyntaxError: missing ) after argument list\n", "error[E0425]: cannot find value `%s`\n --> src/lib.rs:2:9\n2 |  \"%[1]s\"\n",
		"  File \"a.py\", line 2\n    print(\"%s\"\n         ^\nSyntaxError: '(' was never closed\n",
	}
	for _, form := range code {
		for _, w := range words {
			p := &Problem{Output: strings.ReplaceAll(strings.ReplaceAll(form, "%[1]s", w), "%s", w), Command: "make", Code: 2, Attempt: 1}
			if act, by, _ := Classify(p); act != nil {
				t.Errorf("%q: %s %s %+v", p.Output, p.Type, by, act)
			}
		}
	}
	for output, want := range map[string]string{
		"go: github.com/x/y@v1.0.0: reading https://proxy.example/x: 401 Unauthorized\n":                                                       problem.Auth,
		"npm error code E401\nnpm error Unable to authenticate\n":                                                                              problem.Auth,
		"fatal: could not read Username for 'https://git.example': terminal prompts disabled\n":                                                problem.Auth,
		"cp: error writing 'x': No space left on device\n":                                                                                     problem.Environment,
		"OSError: [Errno 28] No space left on device\n":                                                                                        problem.Environment,
		"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nMemoryError\n":                                              problem.Environment,
		"panic: listen tcp :8080: bind: address already in use\n":                                                                              problem.Environment,
		"E: Could not get lock /var/lib/dpkg/lock\n":                                                                                           problem.Environment,
		"error: failed to download from `https://index.example/serde`\n":                                                                       problem.Environment,
		"error foo@1.0.0: The engine \"node\" is incompatible with this module. Expected \">=99\".\n":                                          problem.Environment,
		"E   ModuleNotFoundError: No module named 'requests'\n_____ ERROR collecting test_a.py _____\n1 error in 0.03s\n":                      problem.Dependency,
		"● Test suite failed to run\n\n    Cannot find module 'left-pad' from 'a.test.js'\n\nTests:       0 total\n":                           problem.Dependency,
		"/usr/bin/python3: No module named pytest\n":                                                                                           problem.Dependency,
		"Auto-merging a.txt\nCONFLICT (content): Merge conflict in a.txt\nAutomatic merge failed; fix conflicts and then commit the result.\n": problem.Merge,
	} {
		p := &Problem{Output: output, Command: "make", Code: 2, Attempt: 1}
		if _, by, _ := Classify(p); p.Type != want {
			t.Errorf("%q: %s (%s), want %s", output, p.Type, by, want)
		}
	}
}

// A job that began before revision 5 recognises failures as it did.
func TestClassifyBefore(t *testing.T) {
	p := &Problem{Output: "--- FAIL: TestA (0.00s)\n    a_test.go:9: got 401 Unauthorized\n", Code: 1, Attempt: 1, old: true}
	if act, by, _ := Classify(p); act == nil || by != Rule("auth") || !slices.Equal(p.Files, []string{"a_test.go"}) {
		t.Errorf("%s %+v %q", by, act, p.Files)
	}
}

// Colours, which results of commands have spelled out, hide no words from a job that begins
// now; one that began before reads them as it did.
func TestColoursAreNotRead(t *testing.T) {
	const output = `\x1b[31mModuleNot\x1b[0mFoundError: No module named 'requests'`
	run, err := json.Marshal(map[string]any{"exit_code": 1, "output": output})
	if err != nil {
		t.Fatal(err)
	}
	for revision, want := range map[int]string{turn.Revision: "ModuleNotFoundError: No module named 'requests'", 10: output} {
		p := problemOf(&executor.Task{Revision: revision}, executor.ToolResult{Result: tools.Result{Artifacts: map[string]json.RawMessage{"run": run}}})
		if p.Output != want {
			t.Errorf("revision %d: %q", revision, p.Output)
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
	got := r.Markdown("J1")
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
