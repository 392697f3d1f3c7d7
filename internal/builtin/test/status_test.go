package test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools"
)

// What programs printed and their exit codes, as recorded. The exit code decides whether the
// tests have passed; where none was started or found, that is said, and no failure.
func TestExitCodes(t *testing.T) {
	const (
		passed  = ""
		none    = tools.NothingToCheck
		away    = tools.CannotCheck
		failing = tools.Inconclusive("failed")
	)
	for name, c := range map[string]struct {
		command string // its first word is a program that prints out
		out     string
		code    int
		is      tools.Inconclusive
		counts  [3]int
		says    string
	}{
		// Nothing contradicts exit code 0.
		"gradle, quiet about tasks":  {"gradle check", "BUILD SUCCESSFUL in 1s\n3 actionable tasks: 3 up-to-date", 0, passed, [3]int{}, "passed, exit code 0 ("},
		"surefire, flakes":           {"mvn test", "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! -- in shop.CartTest\n[WARNING] Flakes: \n[WARNING] shop.CartTest.adds\n[ERROR]   Run 1: CartTest.adds:9\n[INFO]   Run 2: PASS\n[INFO] \n[WARNING] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Flakes: 1\n[INFO] BUILD SUCCESS", 0, passed, [3]int{2}, "2 passed"},
		"playwright, flaky":          {"npx playwright test", "Running 3 tests using 1 worker\n\n  1) [chromium] › cart.spec.ts:3:5 › adds ───\n\n    Error: timed out\n\n  1 flaky\n    [chromium] › cart.spec.ts:3:5 › adds ───\n  2 passed (2.0m)", 0, passed, [3]int{3}, "3 passed"},
		"pytest, rerun":              {"pytest", "RR.F.\n==== 2 passed, 2 rerun in 0.14s ====", 0, passed, [3]int{2}, "2 passed"},
		"jest, retryTimes":           {"npx jest", "PASS src/a.test.ts\n  ● adds\n\n    RETRY ERRORS\n\n    expect(received).toBe(expected)\n\nTests:       2 passed, 2 total", 0, passed, [3]int{2}, "2 passed"},
		"nextest, flaky":             {"cargo nextest run", "  TRY 1 FAIL [   0.004s] shop tests::adds\n  TRY 2 PASS [   0.004s] shop tests::adds\n   FLAKY 2/3 [   0.004s] shop tests::adds\n     Summary [   0.012s] 3 tests run: 3 passed (1 flaky), 1 skipped", 0, passed, [3]int{3, 0, 1}, "3 passed, 1 skipped"},
		"a failure that was retried": {"sh retry", "Tests:       1 failed, 1 passed, 2 total\nTests:       2 passed, 2 total", 0, passed, [3]int{3}, "the output also has 1 failed, which the exit code 0 says do not count"},
		"workspaces, one empty":      {"npm test --workspaces", "\n> web@1.0.0 test\n> vitest run --passWithNoTests\n\nNo test files found, exiting with code 0\n\n> api@1.0.0 test\n> sh check.sh\n\nall good", 0, passed, [3]int{}, "passed, exit code 0"},
		"workspaces, each empty":     {"npm test --workspaces", "\n> web@1.0.0 test\n> vitest run --passWithNoTests\n\nNo test files found, exiting with code 0\n\n> api@1.0.0 test\n> vitest run --passWithNoTests\n\nNo test files found, exiting with code 0", 0, none, [3]int{}, "no test ran"},
		"turbo, one empty":           {"turbo test", "web:test: No test files found, exiting with code 0\napi:test: all good\n", 0, passed, [3]int{}, "passed, exit code 0"},
		"pytest, one empty":          {"make -k test", "==== no tests ran in 0.01s ====\n==== 3 passed in 0.02s ====", 0, passed, [3]int{3}, "3 passed"},
		"go, some without tests":     {"go test ./...", "?   \tshop/cmd\t[no test files]\nok  \tshop\t0.003s", 0, passed, [3]int{}, "passed, exit code 0 ("},
		"go, none":                   {"go test ./...", "?   \tshop/cmd\t[no test files]\nok  \tshop\t0.003s  coverage: [no statements] [no tests to run]", 0, none, [3]int{}, "no test ran"},
		"cargo, empty doc tests":     {"cargo test", "running 5 tests\ntest result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n   Doc-tests shop\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s", 0, passed, [3]int{5}, "5 passed"},
		"maven, quiet":               {"mvn -q test", "", 0, passed, [3]int{}, "passed, exit code 0"},

		// Nothing was there to run.
		"pytest, none collected": {"pytest sub", "==== no tests ran in 0.01s ====", 5, none, [3]int{}, "no test ran: the runner found none, exit code 5"},
		"pytest, deselected":     {"pytest -k x", "==== 3 deselected in 0.01s ====", 5, none, [3]int{}, "the runner found none, exit code 5"},
		"nextest, none":          {"cargo nextest run", "    Finished `test` profile\n    Starting 0 tests across 0 binaries\n     Summary [   0.000s] 0 tests run: 0 passed, 0 skipped\nerror: no tests to run\n(hint: use `--no-tests` to customize)", 4, none, [3]int{}, "the runner found none, exit code 4"},
		"dart, none":             {"dart test", "No tests ran.", 79, none, [3]int{}, "the runner found none, exit code 79"},
		"vitest, none":           {"npx vitest run", "No test files found, exiting with code 1", 1, none, [3]int{}, "the runner found none, exit code 1"},

		"maven, skipped":   {"mvn test", "[INFO] --- surefire:3.2.5:test (default-test) @ a ---\n[INFO] Tests are skipped.\n[INFO] BUILD SUCCESS", 0, none, [3]int{}, "no test ran"},
		"gradle, skipped":  {"gradle test", "> Task :test SKIPPED\n\nBUILD SUCCESSFUL in 1s", 0, none, [3]int{}, "no test ran"},
		"turbo, no task":   {"turbo test", "• Running test in 2 packages\n\nNo tasks were executed as part of this run.\n\n Tasks:    0 successful, 0 total", 0, none, [3]int{}, "no test ran"},
		"googletest, none": {"gtests", "[==========] Running 0 tests from 0 test suites.\n[==========] 0 tests from 0 test suites ran. (0 ms total)\n[  PASSED  ] 0 tests.", 0, none, [3]int{}, "no test ran"},

		// Nothing could be started.
		"pytest, usage":          {"pytest --x", "ERROR: usage: pytest [options] [file_or_dir]\npytest: error: unrecognized arguments: --x", 4, away, [3]int{}, "could not be started, exit code 4: pytest: error: unrecognized arguments: --x"},
		"pytest, no such file":   {"pytest nope.py", "==== no tests ran in 0.00s ====\nERROR: file or directory not found: nope.py", 4, away, [3]int{}, "exit code 4: ERROR: file or directory not found: nope.py"},
		"pytest, own error":      {"pytest", "INTERNALERROR> Traceback", 3, away, [3]int{}, "exit code 3: pytest itself failed"},
		"a missing program":      {"sh test", "test.sh: line 1: jest: command not found", 127, away, [3]int{}, "exit code 127: jest is not installed here, or not on PATH"},
		"missing under npm":      {"npm test", "sh: 1: jest: not found", 127, away, [3]int{}, "jest is not installed here"},
		"missing under make":     {"make test", "jest\nmake: jest: No such file or directory\nmake: *** [Makefile:2: test] Error 127", 2, away, [3]int{}, "exit code 2: jest is not installed here"},
		"not executable":         {"sh test", "sh: 1: ./run.sh: Permission denied", 126, away, [3]int{}, "exit code 126: a program in it is there but cannot be executed"},
		"npm, no script":         {"npm test", "npm error Missing script: \"test\"\nnpm error\nnpm error To see a list of scripts, run:", 1, away, [3]int{}, `exit code 1: npm error Missing script: "test"`},
		"npm, workspaces":        {"npm test", "npm ERR! missing script: test", 1, away, [3]int{}, "npm ERR! missing script: test"},
		"yarn, no script":        {"yarn test", `error Command "test" not found.`, 1, away, [3]int{}, `error Command "test" not found.`},
		"pnpm, no script in any": {"pnpm -r test", "ERR_PNPM_RECURSIVE_RUN_NO_SCRIPT  None of the packages has a \"test\" script", 1, away, [3]int{}, "NO_SCRIPT  None of the packages"},
		"pnpm, no script":        {"pnpm test", " ERR_PNPM_NO_SCRIPT  Missing script: test", 1, away, [3]int{}, "ERR_PNPM_NO_SCRIPT  Missing script: test"},
		"make, no target":        {"make test", "make: *** No rule to make target 'test'.  Stop.", 2, away, [3]int{}, "exit code 2: make: *** No rule to make target 'test'.  Stop."},
		"make, no file":          {"make test", "make: *** No targets specified and no makefile found.  Stop.", 2, away, [3]int{}, "no makefile found"},
		"just, no recipe":        {"just test", "error: Justfile does not contain recipe `test`", 1, away, [3]int{}, "does not contain recipe"},
		"gradle, no task":        {"gradle test", "FAILURE: Build failed with an exception.\n\n* What went wrong:\nTask 'test' not found in root project 'shop'.", 1, away, [3]int{}, "Task 'test' not found in root project 'shop'."},
		"cargo, no command":      {"cargo nextest run", "error: no such command: `nextest`", 101, away, [3]int{}, "error: no such command: `nextest`"},

		// What failed has failed, and what nobody knows is measured only.
		"make, no prerequisite": {"make test", "make: *** No rule to make target 'a.o', needed by 'test'.  Stop.", 2, failing, [3]int{}, "the tests failed, exit code 2"},
		"failed, then missing":  {"sh test", "Tests:       1 failed, 2 passed, 3 total\nsh: 1: nyc: not found", 127, failing, [3]int{2, 1}, "1 of 3 failed"},
		"passed, then missing":  {"sh test", "Tests:       2 passed, 2 total\nsh: 1: nyc: not found", 127, failing, [3]int{2}, "exit code 127, and no test that failed is counted"},
		"unknown, failed":       {"sh test", "oh", 4, failing, [3]int{}, "the tests failed, exit code 4, unknown format: not counted"},
		"unknown, passed":       {"sh test", "oh", 0, passed, [3]int{}, "passed, exit code 0, unknown format: not counted"},

		"bazel, one":           {"bazel test //...", "//a:t   FAILED in 0.1s\n\nExecuted 1 out of 1 test: 1 fails locally.", 3, failing, [3]int{0, 1}, "1 of 1 failed"},
		"prove":                {"prove t", "t/a.t (Wstat: 256 (exited 1) Tests: 3 Failed: 1)\nFiles=1, Tests=3,  0 wallclock secs\nResult: FAIL", 1, failing, [3]int{2, 1}, "1 of 3 failed"},
		"unittest, unexpected": {"python3 -m unittest", "Ran 2 tests in 0.001s\n\nFAILED (unexpected successes=1)", 1, failing, [3]int{1, 1}, "1 of 2 failed"},
		"go test -json":        {"make test", "{\"Action\":\"start\",\"Package\":\"x/a\"}\n{\"Action\":\"pass\",\"Package\":\"x/a\",\"Test\":\"TestA\"}\n{\"Action\":\"fail\",\"Package\":\"x/a\",\"Test\":\"TestB\"}\n{\"Action\":\"fail\",\"Package\":\"x/a\"}", 2, failing, [3]int{1, 1}, "FAIL x/a TestB"},
		"pytest, xfail":        {"pytest", "==== 3 xfailed in 0.02s ====", 0, failing, [3]int{0, 0, 3}, "no test counts: all 3 were skipped or are expected to fail"},

		// Skipped is neither passed nor failed.
		"ctest, skipped":  {"ctest", "    Start 1: a\n1/3 Test #1: a ................   Passed    0.00 sec\n2/3 Test #2: b ................***Skipped   0.00 sec\n    Start 3: c\n3/3 Test #3: c ................***Not Run (Disabled)   0.00 sec\n\n100% tests passed, 0 tests failed out of 2\n\nTotal Test time (real) =   0.01 sec\n\nThe following tests did not run:\n\t  2 - b (Skipped)\n\t  3 - c (Disabled)", 0, passed, [3]int{1, 0, 2}, "1 passed, 2 skipped"},
		"ctest, not run":  {"ctest", "50% tests passed, 1 tests failed out of 2\n\nThe following tests did not run:\n\t  3 - c (Disabled)\n\nThe following tests FAILED:\n\t  2 - b (Not Run)\nErrors while running CTest", 8, failing, [3]int{1, 1, 1}, "1 of 2 failed, 1 skipped"},
		"ctest, all skip": {"ctest", "100% tests passed, 0 tests failed out of 1\n\nThe following tests did not run:\n\t  1 - b (Skipped)", 0, failing, [3]int{0, 0, 1}, "no test counts: all 1 were skipped"},

		// Each run counts once.
		"rspec, two formatters":  {"rspec", "Finished in 0.0021 seconds (files took 0.05 seconds to load)\n5 examples, 0 failures\n\n\nFinished in 0.0021 seconds (files took 0.05 seconds to load)\n5 examples, 0 failures", 0, passed, [3]int{5}, "5 passed"},
		"parallel_tests":         {"parallel_rspec", "2 processes for 4 specs, ~ 2 specs per process\n.....\n\nFinished in 0.1 seconds (files took 0.05 seconds to load)\n5 examples, 0 failures\n\n...\n\nFinished in 0.2 seconds (files took 0.05 seconds to load)\n3 examples, 0 failures, 1 pending\n\n8 examples, 0 failures, 1 pending\n\nTook 1 seconds", 0, passed, [3]int{7, 0, 1}, "7 passed, 1 skipped"},
		"mocha, two reporters":   {"mocha", "  ․․!\n\n  2 passing (4ms)\n  1 failing\n\n  1) cart adds:\n     boom\n\n  cart\n    ✓ a\n\n  2 passing (4ms)\n  1 failing\n\n  1) cart adds:", 1, failing, [3]int{2, 1}, "1 of 3 failed"},
		"mocha, two packages":    {"npm test --workspaces", "\n> a@1.0.0 test\n> mocha\n\n  2 passing (4ms)\n\n> b@1.0.0 test\n> mocha\n\n  2 passing (4ms)", 0, passed, [3]int{4}, "4 passed"},
		"vitest, two reporters":  {"vitest", " Test Files  1 passed (1)\n      Tests  3 passed (3)\n   Start at  10:00:00\n   Duration  1.20s (transform 20ms)\n\n ✓ a > b 1ms\n\n Test Files  1 passed (1)\n      Tests  3 passed (3)\n   Start at  10:00:00\n   Duration  1.20s (transform 20ms)", 0, passed, [3]int{3}, "3 passed"},
		"vitest, two workspaces": {"make test", "      Tests  3 passed (3)\n   Duration  1.20s (transform 20ms)\n\n      Tests  3 passed (3)\n   Duration  1.31s (transform 20ms)", 0, passed, [3]int{6}, "6 passed"},

		// What is around the lines of a program is none of its own.
		"colours":         {"vitest", "\x1b[2m      Tests \x1b[22m \x1b[1m\x1b[31m1 failed\x1b[39m\x1b[22m\x1b[2m | \x1b[22m\x1b[1m\x1b[38:2::0:255:0m1\x1b[0m\x1b[32m2 passed\x1b[39m\x1b[22m\x1b[90m (13)\x1b[39m", 1, failing, [3]int{12, 1}, "1 of 13 failed"},
		"GitHub Actions":  {"sh log", "2024-01-01T00:00:00.0000000Z ##[group]Run npm test\n2024-01-01T00:00:01.0000000Z Tests:       1 failed, 2 passed, 3 total\n2024-01-01T00:00:01.0000000Z ##[error]Process completed with exit code 1.", 1, failing, [3]int{2, 1}, "1 of 3 failed"},
		"gh run view":     {"gh run view --log", "build\tRun tests\t2024-01-01T00:00:01.0000000Z ==== 3 passed in 0.02s ====", 0, passed, [3]int{3}, "3 passed"},
		"CRLF":            {"sh test", "===== 3 passed in 0.02s =====\r\n", 0, passed, [3]int{3}, "3 passed"},
		"docker compose":  {"docker compose up", "\x1b[36mapp_1  |\x1b[0m ==== 3 passed in 0.02s ====\napp_1  | Error: none\ndb-1   | ready\napp_1 exited with code 0", 0, passed, [3]int{3}, "3 passed"},
		"minutes":         {"npx playwright test", "  2 passed (2.0m)", 0, passed, [3]int{2}, "2 passed"},
		"a returned line": {"dart test", "00:00 +0: loading\r00:01 +2: cart\r00:01 +3: All tests passed!\n", 0, passed, [3]int{3}, "3 passed"},
	} {
		t.Run(name, func(t *testing.T) {
			program, _, _ := strings.Cut(c.command, " ")
			if program == "sh" { // the shell itself runs the program
				program, c.command = "unknown-runner", strings.Replace(c.command, "sh", "unknown-runner", 1)
			}
			programs(t, map[string]string{program: fmt.Sprintf("/bin/cat <<'END'\n%s\nEND\nexit %d\n", c.out, c.code)})
			_, env := siteOf(t, nil)
			command, err := json.Marshal(c.command)
			if err != nil {
				t.Fatal(err)
			}
			env.Artifacts = artifacts{tools.TestCommand: command}
			r, tr := call(t, env, `{}`)
			is := r.Inconclusive
			if is == "" && r.Failed {
				is = failing
			}
			if is != c.is || [3]int{tr.Passed, tr.Failed, tr.Skipped} != c.counts || !strings.Contains(r.Text, c.says) {
				t.Errorf("it is %q, want %q, with %d passed, %d failed, %d skipped, want %v, and %q:\n%s", is, c.is, tr.Passed, tr.Failed, tr.Skipped, c.counts, c.says, r.Text)
			}
			if tr.None != (c.is == none) {
				t.Errorf("None is %v", tr.None)
			}
		})
	}
}

// A failure's place is in the workspace, not in the runner that reports it.
func TestPlacesInTheWorkspace(t *testing.T) {
	p := project{root: "/w", dir: "y", module: "example.com/g"}
	goOutput := func(line string) string {
		return `{"Action":"output","Package":"example.com/g/race","Test":"TestA","Output":"` + line + `\n"}` + "\n"
	}
	for name, r := range map[string]testResult{
		"y/race/a_test.go:3": readGo(p, `{"Action":"start","Package":"example.com/g/race"}`+"\n"+goOutput("WARNING: DATA RACE")+goOutput("      /w/y/race/a_test.go:3 +0x104")+
			goOutput("    testing.go:1712: race detected during execution of test")+`{"Action":"fail","Package":"example.com/g/race","Test":"TestA"}`+"\n"),
		"y/build/a_test.go:2": readGo(p, `{"ImportPath":"b","Action":"build-output","Output":"build/a_test.go:2:9: undefined: x\n"}`+"\n"+
			`{"Action":"start","Package":"b"}`+"\n"+`{"Action":"fail","Package":"b","FailedBuild":"b"}`+"\n"),
		"y/test_syn.py:1": readPytest(p, "==== ERRORS ====\n____ ERROR collecting test_syn.py ____\n/usr/lib/python3.11/ast.py:50: in parse\n    return compile(source)\nE   SyntaxError: invalid syntax\n"+
			"=== short test summary info ===\nERROR test_syn.py\n=== 1 error in 0.97s ===\n"),
		"y/test_a.py:7": readPytest(p, "==== FAILURES ====\n____ test_a ____\n\ntest_a.py:7: in test_a\n    get()\n/usr/lib/python3/dist-packages/lib/api.py:59: in get\n    raise\nE   ValueError\n"+
			"=== short test summary info ===\nFAILED test_a.py::test_a - ValueError\n=== 1 failed in 0.97s ===\n"),
	} {
		if len(r.Tests) != 1 || fmt.Sprintf("%s:%d", r.Tests[0].File, r.Tests[0].Line) != name {
			t.Errorf("%s: %+v", name, r.Tests)
		}
	}
}
