package test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestConforms(t *testing.T) { toolstest.Check(t, Run) }

// project writes the files of a txtar archive and returns an Env on them.
func newProject(t *testing.T, archive string) *tools.Env {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ex := process.New(dir, t.TempDir(), nil)
	t.Cleanup(func() { ex.Close(); files.Close() })
	return &tools.Env{Files: files, Exec: ex}
}

func call(t *testing.T, env *tools.Env, args string) (tools.Result, testResult) {
	t.Helper()
	r, err := Run.Run(context.Background(), env, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	var tr testResult
	if err := json.Unmarshal(r.Artifacts["test_result"], &tr); err != nil {
		t.Fatalf("test_result is not bound: %v in %+v", err, r)
	}
	return r, tr
}

type want struct {
	passed, failed, skipped int
	ok                      bool
	says                    []string // in the text
	file                    string   // of the first failed test
	line                    int
}

func (w want) check(t *testing.T, r tools.Result, tr testResult) {
	t.Helper()
	if tr.Passed != w.passed || tr.Failed != w.failed || tr.Skipped != w.skipped || r.Failed == w.ok {
		t.Errorf("passed %d failed %d skipped %d, Failed %v; want %+v\n%s", tr.Passed, tr.Failed, tr.Skipped, r.Failed, w, r.Text)
	}
	for _, s := range w.says {
		if !strings.Contains(r.Text, s) {
			t.Errorf("the text does not say %q:\n%s", s, r.Text)
		}
	}
	for _, one := range tr.Tests {
		if one.Status != statusFail && one.Status != statusBroken {
			if one.Output != "" {
				t.Errorf("%s has output though it did not fail", one.Name)
			}
			continue
		}
		if w.file != "" && (one.File != w.file || one.Line != w.line) {
			t.Errorf("%s is at %s:%d, want %s:%d", one.Name, one.File, one.Line, w.file, w.line)
		}
		break
	}
}

const goMod = "-- go.mod --\nmodule example.com/shop\n\ngo 1.21\n"

func TestGo(t *testing.T) {
	testenv.NeedsProgram(t, "go")
	for _, c := range []struct {
		name, files, args string
		want              want
	}{
		{"pass", goMod + "-- a_test.go --\npackage shop\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) { t.Run(\"x\", func(t *testing.T) {}); t.Run(\"y\", func(t *testing.T) {}) }\n", `{}`,
			want{passed: 3, ok: true, says: []string{"3 passed", "go test"}}},
		{"fail", goMod + "-- cart/a_test.go --\npackage cart\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tt.Run(\"x\", func(t *testing.T) {\n\t\tt.Error(\"got 3, want 4\")\n\t})\n\tt.Run(\"y\", func(t *testing.T) {})\n}\nfunc TestS(t *testing.T) { t.Skip(\"later\") }\n", `{}`,
			want{passed: 1, failed: 1, skipped: 1, says: []string{"1 of 2 failed, 1 skipped", "TestA/x", "got 3, want 4"}, file: "cart/a_test.go", line: 7}},
		{"build", goMod + "-- bad/b_test.go --\npackage bad\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { missing() }\n-- good/g_test.go --\npackage good\n\nimport \"testing\"\n\nfunc TestG(t *testing.T) {}\n", `{}`,
			want{passed: 1, failed: 1, says: []string{"undefined: missing", "BROKEN example.com/shop/bad"}}},
		{"syntax", goMod + "-- a.go --\npackage shop\n\nfunc {\n-- a_test.go --\npackage shop\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n", `{}`,
			want{failed: 1, says: []string{"a.go:3"}}},
		{"panic", goMod + "-- a_test.go --\npackage shop\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tpanic(\"oh\")\n}\n", `{}`,
			want{failed: 1, says: []string{"panic: oh"}, file: "a_test.go", line: 6}},
		{"exit", goMod + "-- a_test.go --\npackage shop\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(3) }\nfunc TestA(t *testing.T) {}\n", `{}`,
			want{failed: 1, says: []string{"BROKEN"}}},
		{"nothing", goMod + "-- a.go --\npackage shop\n", `{}`,
			want{says: []string{"no test ran"}}},
		{"filter matches nothing", goMod + "-- a_test.go --\npackage shop\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n", `{"filter":"TestZ"}`,
			want{says: []string{"no test ran"}}},
		{"only skipped", goMod + "-- a_test.go --\npackage shop\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Skip() }\n", `{}`,
			want{skipped: 1, says: []string{"all 1 were skipped"}}},
		{"target", goMod + "-- a/a_test.go --\npackage a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n-- b/b_test.go --\npackage b\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) { t.Fail() }\n", `{"target":"a/a_test.go"}`,
			want{passed: 1, ok: true, says: []string{"./a"}}},
		{"below", "-- srv/go.mod --\nmodule example.com/srv\n\ngo 1.21\n-- srv/x/a_test.go --\npackage x\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tt.Error(\"no\")\n}\n", `{}`,
			want{failed: 1, says: []string{"cd srv"}, file: "srv/x/a_test.go", line: 6}},
		{"tests that print json", goMod + "-- a_test.go --\npackage shop\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) {\n\tfmt.Println(`{\"Action\":\"pass\",\"Package\":\"example.com/shop\",\"Test\":\"TestZ\"}`)\n\tt.Fail()\n}\n", `{}`,
			want{failed: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, tr := call(t, newProject(t, c.files), c.args)
			c.want.check(t, r, tr)
		})
	}
}

func TestPytest(t *testing.T) {
	testenv.NeedsProgram(t, "pytest")
	for _, c := range []struct {
		name, files, args string
		want              want
	}{
		{"pass", "-- test_a.py --\ndef test_a():\n    print('FAILED test_a.py::test_z')\n", `{}`, want{passed: 1, ok: true, says: []string{"1 passed"}}},
		{"fail", "-- tests/test_a.py --\nimport pytest\n\ndef test_ok(): pass\n\ndef test_bad():\n    print('noise')\n    assert 1 == 2\n\n@pytest.mark.skip(reason='later')\ndef test_s(): pass\n\n@pytest.mark.parametrize('x', ['a b', 'c - d'])\ndef test_p(x): pass\n", `{}`,
			want{passed: 3, failed: 1, skipped: 1, says: []string{"1 of 4 failed, 1 skipped", "test_bad", "assert 1 == 2"}, file: "tests/test_a.py", line: 7}},
		{"collect", "-- test_a.py --\nimport nothere\n", `{}`, want{failed: 1, says: []string{"nothere"}, file: "test_a.py", line: 1}},
		{"class and fixture", "-- test_a.py --\nimport pytest\n\nclass TestC:\n    def test_m(self):\n        raise ValueError('x')\n\n@pytest.fixture\ndef boom():\n    raise RuntimeError('fixture')\n\ndef test_f(boom): pass\n", `{}`,
			want{failed: 2, says: []string{"TestC::test_m", "ValueError: x", "RuntimeError: fixture"}}},
		{"nothing", "-- conftest.py --\n-- test_a.py --\n", `{}`, want{says: []string{"no test ran"}}},
		{"filter and target", "-- a/test_a.py --\ndef test_one(): pass\ndef test_two(): assert 0\n-- b/test_b.py --\ndef test_one(): assert 0\n", `{"target":"a/test_a.py","filter":"one"}`, want{passed: 1, ok: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, tr := call(t, newProject(t, c.files), c.args)
			c.want.check(t, r, tr)
		})
	}
}

func TestNode(t *testing.T) {
	testenv.NeedsProgram(t, "node")
	const head = "const test = require('node:test');\nconst assert = require('node:assert');\n"
	for _, c := range []struct {
		name, files, args string
		want              want
	}{
		{"pass", "-- package.json --\n{}\n-- a.test.js --\n" + head + "test('one', () => {});\n", `{}`, want{passed: 1, ok: true}},
		{"fail", "-- package.json --\n{\"scripts\":{\"test\":\"node --test\"}}\n-- lib/a.test.js --\n" + head +
			"test('adds', () => {});\ntest('breaks', () => {\n  assert.equal(1 + 1, 3);\n});\ntest('later', { skip: 'why' }, () => {});\n" +
			"test('suite', async (t) => { await t.test('inner', () => { throw new Error('x'); }); });\n", `{}`,
			want{passed: 1, failed: 2, skipped: 1, says: []string{"2 of 3 failed, 1 skipped", "breaks", "2 == 3"}, file: "lib/a.test.js", line: 4}},
		{"syntax", "-- package.json --\n{}\n-- a.test.js --\nconst = 1;\n", `{}`, want{failed: 1, says: []string{"a.test.js", "SyntaxError"}}},
		{"filter", "-- package.json --\n{}\n-- a.test.js --\n" + head + "test('one', () => {});\ntest('two', () => { throw 1; });\n", `{"filter":"one","target":"a.test.js"}`, want{passed: 1, ok: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, tr := call(t, newProject(t, c.files), c.args)
			if c.name == "filter" { // Node counts what the filter leaves out as skipped, in some versions
				tr.Skipped = 0
			}
			c.want.check(t, r, tr)
		})
	}
}

func TestNPM(t *testing.T) {
	testenv.NeedsProgram(t, "npm")
	for _, c := range []struct {
		name, script string
		want         want
	}{
		{"counts", `echo 'Tests:       3 passed, 3 total'`, want{passed: 3, ok: true}},
		{"failed", `echo 'Tests:       1 failed, 2 passed, 3 total'; exit 1`, want{passed: 2, failed: 1, says: []string{"1 of 3 failed"}}},
		{"a plain script", `echo fine`, want{ok: true, says: []string{"passed, exit code 0, unknown format"}}},
		{"a plain script that fails", `echo oh; exit 3`, want{says: []string{"the tests failed, exit code 3, unknown format", "oh"}}},
		{"prints nothing", `true`, want{ok: true, says: []string{"passed, exit code 0 ("}}},
		{"playwright", `printf 'Running 2 tests using 1 worker\n\n  2 passed (1.2s)\n'`, want{passed: 2, ok: true}},
		{"turbo", `echo 'web:test: Tests:       3 passed, 3 total'; echo 'api:test: Tests:       2 passed, 2 total'`, want{passed: 5, ok: true}},
		{"no test files", `echo 'No test files found, exiting with code 0'`, want{says: []string{"no test ran"}}},
		{"claims and fails", `echo 'Tests: 3 passed, 3 total'; exit 1`, want{passed: 3, says: []string{"exit code 1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := json.Marshal(map[string]any{"scripts": map[string]string{"test": c.script}})
			r, tr := call(t, newProject(t, "-- package.json --\n"+string(b)+"\n"), `{}`)
			c.want.check(t, r, tr)
		})
	}
}

func TestCargo(t *testing.T) {
	testenv.NeedsProgram(t, "cargo")
	const toml = "-- Cargo.toml --\n[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n"
	for _, c := range []struct {
		name, files string
		want        want
	}{
		{"fail", toml + "-- src/lib.rs --\n#[cfg(test)]\nmod tests {\n    #[test] fn ok() {}\n    #[test] fn bad() {\n        assert_eq!(1 + 1, 3);\n    }\n    #[test] #[ignore] fn later() {}\n}\n",
			want{passed: 1, failed: 1, skipped: 1, says: []string{"1 of 2 failed", "tests::bad", "left: "}, file: "src/lib.rs", line: 5}},
		{"compile", toml + "-- src/lib.rs --\nfn x() { y }\n", want{failed: 1, says: []string{"cannot find value `y`"}, file: "src/lib.rs", line: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, tr := call(t, newProject(t, c.files), `{}`)
			c.want.check(t, r, tr)
		})
	}
	t.Run("target", func(t *testing.T) {
		env := newProject(t, toml+"-- src/lib.rs --\n-- tests/one.rs --\n#[test] fn a() {}\n-- tests/two.rs --\n#[test] fn b() { panic!() }\n")
		r, tr := call(t, env, `{"target":"tests/one.rs"}`)
		want{passed: 1, ok: true}.check(t, r, tr)
		r, tr = call(t, env, `{"target":"src/lib.rs"}`)
		want{says: []string{"by itself", "filter"}}.check(t, r, tr)
	})
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ name, files, args, says string }{
		{"no project", "-- README.md --\nhi\n", `{}`, "no go.mod"},
		{"no tests", goMod + "-- a.go --\npackage shop\n", `{}`, "no test ran"},
		{"all skipped", goMod + "-- a_test.go --\npackage shop\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Skip() }\n", `{}`, "skipped"},
		{"option as target", goMod, `{"target":"-exec=sh"}`, "dash"},
		{"option as filter", goMod, `{"filter":"--toolexec=sh"}`, "dash"},
		{"outside", goMod, `{"target":"../x"}`, ".."},
		{"absent", goMod, `{"target":"nope"}`, "nope"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, tr := call(t, newProject(t, c.files), c.args)
			if !r.Failed || !strings.Contains(r.Text, c.says) || tr.Problem == "" {
				t.Errorf("Failed %v: %s", r.Failed, r.Text)
			}
			if tr.None != (c.name == "no project" || c.name == "no tests") {
				t.Errorf("None is %v", tr.None)
			}
		})
	}
}

// Two kinds of project side by side are both run, and one failure fails both.
func TestMixed(t *testing.T) {
	testenv.NeedsProgram(t, "go")
	testenv.NeedsProgram(t, "pytest")
	r, tr := call(t, newProject(t, goMod+"-- a_test.go --\npackage shop\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n-- test_a.py --\ndef test_a(): assert 0\n"), `{}`)
	want{passed: 1, failed: 1, says: []string{"1 of 2 failed", "go test", "pytest"}}.check(t, r, tr)
	// A target picks the kind it is of.
	env := newProject(t, goMod+"-- a/a_test.go --\npackage a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n-- py/test_a.py --\ndef test_a(): assert 0\n")
	r, tr = call(t, env, `{"target":"a"}`)
	want{passed: 1, ok: true}.check(t, r, tr)
	r, tr = call(t, env, `{"target":"py"}`)
	want{failed: 1, file: "py/test_a.py", line: 1}.check(t, r, tr)
}
