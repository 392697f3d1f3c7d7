package problem

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A format describes how one program reports problems. All that is known of the outputs of test
// runners, compilers and linters is in this table; testdata/formats has real ones.
type format struct {
	name string
	typ  string // of the problem that fail shows
	// fail shows that the program found something wrong.
	fail *lazyregexp.Regexp
	// count matches a runner's summary, in one line or one for each part. Groups are named passed,
	// failed, errors, skipped and total; the number of passed tests follows from the total where
	// there is no group for it. A group named words matches text such as "3 passed, 1 failed" or
	// "failures=1, skipped=2". Where a line has a group named all, only such lines count.
	count *lazyregexp.Regexp
	// last: the runner prints the line again as tests end, and only the last one counts. Lines
	// that begin with different values of a group named of are counted separately.
	last bool
	// whole: a summary covers the whole run, so that a second one with the same counts, to the
	// second, comes from another reporter: see once.
	whole bool
	// none matches a run without tests; ran matches a run with tests that the runner does not
	// count.
	none, ran *lazyregexp.Regexp
	// seen matches text that only this program writes.
	seen *lazyregexp.Regexp
	// more matches what the summary leaves out: a test that did not run, or a group named failed
	// with the number of tests that failed. What a group named among matches, and those that
	// failed, are included in the passed tests of count.
	more *lazyregexp.Regexp
}

const (
	// place is a file, with a drive of Windows or without one, and a line.
	place = `^(?:[A-Za-z]:)?[^\s:][^:\n]*:\d+`
	// translated are the words for error, and fatal error, by which gcc and javac report one.
	translated = `(?:schwerwiegender )?Fehler|erreur(?: fatale)?|error fatal|(?:fatale )?fout|(?:ödesdigert )?fel|(?:fatal )?fejl|(?:vakava )?virhe|(?:onulmaz )?hata|(?:фатальная )?ошибка|(?:критична )?помилка|(?:致命的)?エラー|(?:致命)?错误|(?:嚴重)?錯誤|greška|грешка|lỗi|σφάλμα|kesalahan`
)

var formats = []format{
	// Test runners.
	{name: "go test", typ: Test,
		fail: lazyregexp.New(`(?m)^\s*--- FAIL: |^FAIL\t\S+\t[\d.]+s$|^panic: test timed out`),
		none: lazyregexp.New(`(?m)^\?\s+\t?\S+\t\[no test files\]$|^ok\s.*\[no tests to run\]$|^\t\S+\t\tcoverage: 0\.0% of statements$`),
		ran:  lazyregexp.New(`(?m)^ok\s+\S+\t(?:[\d.]+s|\(cached\))(?:\tcoverage: (?:\[no statements\]|[^\[\n]*))?$`)},
	{name: "run_tests", typ: Test, fail: lazyregexp.New(`(?m)^(?:FAIL|BROKEN) \S|^\d+ of \d+ failed\b`)}, // our own tool
	{name: "gotestsum", typ: Test, count: lazyregexp.New(`(?m)^DONE (?:\d+ runs, )?(?P<total>\d+) tests?(?:, (?P<skipped>\d+) skipped)?(?:, (?P<failed>\d+) failures?)?(?:, (?P<errors>\d+) errors?)? in [\d.]+s$`)},
	{name: "pytest", typ: Test,
		fail:  lazyregexp.New(`(?m)^FAILED \S+::|^!{3,} (?:KeyboardInterrupt|\S*\bExit: .*) !{3,}$|^E       ?\w*(?:Error|assert)\b`),
		count: lazyregexp.New(`(?m)^=* ?(?P<words>(?:\d+ [a-z]+(?: [a-z]+)?,? ?)+)in [\d.]+s(?: \([\d:]+\))? ?=*$`),
		none:  lazyregexp.New(`(?m)^=* ?(?:no tests ran|\d+ deselected(?:, \d+ warnings?)?) in |^collected 0 items$`)},
	{name: "unittest, nose, trial, shunit2", typ: Test,
		fail:  lazyregexp.New(`(?m)^(?:FAIL|ERROR): \S+ \(|^FAILED \(`),
		count: lazyregexp.New(`(?m)^Ran (?P<total>\d+) tests?(?: in [\d.]+s|\.)\n\n(?:OK|PASSED|FAILED|NO TESTS RAN)(?: \((?P<words>[^)\n]*)\))?`),
		none:  lazyregexp.New(`(?m)^NO TESTS RAN$|^Ran 0 tests in `)},
	{name: "nox", typ: Test, fail: lazyregexp.New(`(?m)^nox > (?:Session \S+ failed|\* \S+: failed)`), ran: lazyregexp.New(`(?m)^nox > Session \S+ was successful`)},
	{name: "cargo test", typ: Test,
		fail:  lazyregexp.New(`(?m)^test \S.* \.\.\. FAILED$|^test result: FAILED|^thread '.*' panicked at`),
		count: lazyregexp.New(`(?m)^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored;`)},
	{name: "nextest", typ: Test, fail: lazyregexp.New(`(?m)^\s+FAIL \[`),
		count: lazyregexp.New(`(?m)^\s+Summary \[.*\] (?P<total>\d+)(?:/\d+)? tests? run: (?P<words>(?:\d+ (?:passed|failed|skipped|timed out)(?: \([^)]*\))?,? ?)+)`),
		none:  lazyregexp.New(`(?m)^error: no tests to run$`)},
	{name: "jest, vitest, pest", typ: Test, whole: true,
		fail:  lazyregexp.New(`(?m)^ *FAIL +\S+\.\w+|^\s*● \S.* › |^\s+Errors\s+\d+ errors?$`),
		count: lazyregexp.New(`(?m)^\s*Tests:?\s+(?P<words>(?:\d+ (?:passed|expected fail|failed|skipped|todo|pending|risky|incomplete|warnings?|deprecated)\b[,| ]*)+)`),
		none:  lazyregexp.New(`(?m)^No tests? (?:files )?found|^\s*No test files found`)},
	{name: "mocha, cypress", typ: Test, whole: true, fail: lazyregexp.New(`(?m)^\s+\d+ failing$`),
		count: lazyregexp.New(`(?m)^\s*(?P<words>\d+ (?:passing|failing|pending)\b)`),
		none:  lazyregexp.New(`(?m)^\s*0 passing\b|^Error: No test files found`)},
	{name: "node:test", typ: Test, fail: lazyregexp.New(`(?m)^[#ℹ] (?:fail|cancelled)\s+[1-9]|^Failed tests:$|^✖ failing tests:$`),
		count: lazyregexp.New(`(?m)^\s*(?:[#ℹ]|<!--) (?P<words>(?:pass|fail|cancelled|skip|skipped|todo)\s+\d+)(?: -->)?\s*$`), // of its JUnit reporter, too
		none:  lazyregexp.New(`(?m)^\s*(?:[#ℹ]|<!--) tests\s+0(?: -->)?$`)},
	{name: "bun", typ: Test, fail: lazyregexp.New(`(?m)^\(fail\) `), count: lazyregexp.New(`(?m)^\s*(?P<words>\d+ (?:pass|fail|skip|todo))\s*$`), none: lazyregexp.New(`(?m)^No tests found!$`)},
	{name: "ava", typ: Test, count: lazyregexp.New(`(?m)^\s*(?P<words>\d+ (?:known failures?|tests? (?:passed|failed|skipped|todo)))\s*$`), none: lazyregexp.New(`(?m)^\s*✘ No tests found in `)},
	{name: "node-tap", typ: Test, last: true, count: lazyregexp.New(`(?m)^# \{ total: (?P<total>\d+)(?P<words>(?:, \w+: \d+)*) \}$`)},
	{name: "playwright", typ: Test, whole: true, fail: lazyregexp.New(`(?m)^  \d+\) \[?.*›`),
		count: lazyregexp.New(`(?m)^\s+(?P<words>\d+ (?:passed|failed|flaky|skipped|interrupted|did not run))(?: \([\d.]+(?:ms|[smhd])\))?$`), none: lazyregexp.New(`(?m)^Error: No tests found`)},
	{name: "jasmine", typ: Test, count: lazyregexp.New(`(?m)^(?P<total>\d+) specs?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending specs?)?$`), none: lazyregexp.New(`(?m)^No specs found|^0 specs, 0 failures`)},
	{name: "jasmine-spec-reporter", typ: Test, count: lazyregexp.New(`(?m)^Executed (?P<total>\d+) of \d+ specs?(?: \(?(?:SUCCESS|INCOMPLETE|PENDING|(?P<failed>\d+) FAILED|\d+ (?:PENDING|SKIPPED))\)?)* in `)}, // pending ones are not executed
	{name: "karma", typ: Test, last: true, fail: lazyregexp.New(`(?m)^[A-Z]\w+ [\w.]+ \(.*\) .* FAILED$`),
		count: lazyregexp.New(`(?m)(?P<of>[\w .]+(?: \([^)\n]*\))?): Executed \d+ of (?P<total>\d+)(?: specs?)?(?: \((?P<failed>\d+) FAILED\))?(?: \(skipped (?P<skipped>\d+)\))?`), none: lazyregexp.New(`: Executed 0 of 0 `)},
	{name: "uvu", typ: Test, count: lazyregexp.New(`(?m)^\s+Total:\s+(?P<total>\d+)\n\s+Passed:\s+(?P<passed>\d+)\n\s+Skipped:\s+(?P<skipped>\d+)`), none: lazyregexp.New(`(?m)^\s+Total:\s+0\n\s+Passed:\s+0\n\s+Skipped:\s+0$`)},
	{name: "maven", typ: Test, fail: lazyregexp.New(`(?m)^(?:\[ERROR\] )?Tests run: .* <<< (?:FAILURE|ERROR)!`),
		count: lazyregexp.New(`(?m)^(?:\[\w+\] )?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), Skipped: (?P<skipped>\d+)(?:, Flakes: \d+)?\s*$`), // without the line of each class
		none:  lazyregexp.New(`(?m)^(?:\[INFO\] )?(?:No tests to run|Tests are skipped)\.`)},
	{name: "gradle", typ: Test, fail: lazyregexp.New(`(?m)^\S+ > .* FAILED$`), count: lazyregexp.New(`(?m)^(?P<total>\d+) tests? completed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?$`),
		none: lazyregexp.New(`(?m)^> Task :(?:\S*:)?\w*[tT]est (?:NO-SOURCE|SKIPPED)$`),
		seen: lazyregexp.New(`(?m)^BUILD SUCCESSFUL in `), // of which task, it need not say
		ran:  lazyregexp.New(`(?m)^> Task :(?:\S*:)?\w*[tT]est(?: UP-TO-DATE| FROM-CACHE)?$`)},
	{name: "gradle test logger", typ: Test, count: lazyregexp.New(`(?m)^(?:SUCCESS|FAILURE): Executed (?P<total>\d+) tests? in [^(\n]+(?:\((?P<words>[^)\n]*)\))?$`)},
	{name: "JUnit console", typ: Test, count: lazyregexp.New(`(?m)^\[\s+(?P<words>\d+ tests (?:successful|failed|skipped))\s+\]$`)},
	{name: "sbt", typ: Test, fail: lazyregexp.New(`(?m)^\[error\] Failed tests:`), count: lazyregexp.New(`(?m)^\[(?:info|error)\] (?:Passed|Failed): Total (?P<total>\d+), Failed (?P<failed>\d+), Errors (?P<errors>\d+), Passed \d+(?:, (?:Ignored|Skipped) (?P<skipped>\d+))?`)},
	{name: "dotnet", typ: Test, fail: lazyregexp.New(`(?m)^\s+Failed \S+ \[`), count: lazyregexp.New(`(?m)^\w+!\s+- Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+), Skipped:\s+(?P<skipped>\d+), Total:`), none: lazyregexp.New(`(?m)^No test (?:is available|matches)`)},
	{name: "dotnet summary", typ: Test, count: lazyregexp.New(`(?m)^Test summary: total: (?P<total>\d+), failed: (?P<failed>\d+), succeeded: \d+, skipped: (?P<skipped>\d+)`)},
	{name: "vstest", typ: Test, count: lazyregexp.New(`(?m)^Total tests: (?P<total>\d+)\n(?:\s+Passed: (?P<passed>\d+)\n)?(?:\s+Failed: (?P<failed>\d+)\n)?(?:\s+Skipped: (?P<skipped>\d+)\n)?`)},
	{name: "Microsoft.Testing.Platform", typ: Test, count: lazyregexp.New(`(?m)^Test run summary: .*\n(?:  \S.*\n)*?  total: (?P<total>\d+)\n(?:  error: (?P<errors>\d+)\n)?  failed: (?P<failed>\d+)\n  succeeded: (?P<passed>\d+)\n  skipped: (?P<skipped>\d+)$`), none: lazyregexp.New(`(?m)^Test run summary: Zero tests ran`)},
	{name: "NUnit console", typ: Test, count: lazyregexp.New(`(?m)^  Test Count: (?P<total>\d+), (?P<words>Passed: .*)$`)},
	{name: "mix, bats, CppUTest", typ: Test, fail: lazyregexp.New(`(?m)^\s+\d+\) test .* \(\S+\)$`), count: lazyregexp.New(`(?m)^(?:(?P<doctests>\d+) doctests?, )?(?:(?P<properties>\d+) propert(?:y|ies), )?(?P<total>\d+) tests?, (?P<words>\d+ failures?(?:, \d+ (?:skipped|excluded|invalid))*)(?: in \d+ seconds)?$`), none: lazyregexp.New(`(?m)^There are no tests to run`)},
	{name: "rspec", typ: Test, whole: true, fail: lazyregexp.New(`(?m)^rspec \S+:\d+ # `), count: lazyregexp.New(`(?m)^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?(?:, \d+ warnings?)?(?:, (?P<errors>\d+) errors? occurred outside of examples)?$`), none: lazyregexp.New(`(?m)^0 examples, 0 failures$`)},
	{name: "minitest, test-unit", typ: Test, whole: true, count: lazyregexp.New(`(?m)^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors, (?:\d+ pendings, )?(?P<skipped>\d+) (?:skips|omissions)`), none: lazyregexp.New(`(?m)^0 (?:runs|tests), 0 assertions`)},
	{name: "phpunit", typ: Test, count: lazyregexp.New(`(?m)^OK \((?P<passed>\d+) tests?, \d+ assertions?\)$`), none: lazyregexp.New(`(?m)^No tests executed!$`)},
	{name: "phpunit, failed", typ: Test, count: lazyregexp.New(`(?m)^Tests: (?P<total>\d+), Assertions: \d+(?P<words>(?:, [A-Z][A-Za-z ]*: \d+)*)\.?$`)},
	{name: "ctest", typ: Test, fail: lazyregexp.New(`(?m)^The following tests FAILED:$`), count: lazyregexp.New(`(?m)^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)$`),
		more: lazyregexp.New(`(?m)^\s+\d+ - .* \((?:(?P<among>Skipped)|(?:Not Run )?\(?Disabled\)?)\)$`), none: lazyregexp.New(`(?m)^No tests were found!!!$`)},
	{name: "tox", typ: Test, fail: lazyregexp.New(`(?m)^\s+\S+: FAIL (?:code \d+|✖)`), ran: lazyregexp.New(`(?m)^\s+\S+: OK (?:\(|✔)|^\s+congratulations :\)`)},
	{name: "googletest", typ: Test, fail: lazyregexp.New(`(?m)^\[  FAILED  \] \w`), count: lazyregexp.New(`(?m)^\[  (?:PASSED  \] (?P<passed>\d+) tests?\.|FAILED  \] (?P<failed>\d+) tests?, listed below:|SKIPPED \] (?P<skipped>\d+) tests?, listed below:)$`), none: lazyregexp.New(`(?m)^\[==========\] Running 0 tests `)},
	{name: "catch2", typ: Test, count: lazyregexp.New(`(?m)^All tests passed \(\d+ assertions? in (?P<passed>\d+) test cases?\)$`), none: lazyregexp.New(`(?m)^No test cases? matched`)},
	{name: "catch2, doctest", typ: Test, count: lazyregexp.New(`(?m)^(?:\[doctest\] )?test cases:\s+(?P<total>\d+) \|(?P<words>.*)$`)},
	{name: "Unity", typ: Test, count: lazyregexp.New(`(?m)^(?P<total>\d+) Tests (?P<words>\d+ Failures \d+ Ignored)\s*$`)},
	{name: "Check", typ: Test, count: lazyregexp.New(`(?m)^\d+%: Checks: (?P<total>\d+), (?P<words>Failures: \d+, Errors: \d+)$`)},
	{name: "meson", typ: Test, count: lazyregexp.New(`(?m)^Ok: +(?P<passed>\d+)\s*\n(?:Expected Fail: +\d+\s*\n)?Fail: +(?P<failed>\d+)\s*\n(?:Unexpected Pass: +(?P<errors>\d+)\s*\n)?(?:Skipped: +(?P<skipped>\d+)\s*\n)?`)},
	{name: "automake", typ: Test, count: lazyregexp.New(`(?m)^# TOTAL: (?P<total>\d+)\n# PASS: +\d+\n# SKIP: +(?P<skipped>\d+)\n# XFAIL: +\d+\n# FAIL: +(?P<failed>\d+)\n# XPASS: +(?P<errors>\d+)\n`)},
	{name: "clojure.test", typ: Test, count: lazyregexp.New(`(?m)^Ran (?P<total>\d+) tests containing \d+ assertions\.\n(?P<words>\d+ failures, \d+ errors)\.$`)},
	{name: "forge", typ: Test, count: lazyregexp.New(`(?m)^Ran \d+ test suites? in .*: (?P<words>\d+ tests passed, \d+ failed, \d+ skipped) \(`)},
	{name: "deno", typ: Test, count: lazyregexp.New(`(?m)^(?:ok|FAILED) \| (?P<passed>\d+) passed(?: \(\d+ steps?\))? \| (?P<failed>\d+) failed(?: \| (?P<skipped>\d+) ignored)?`), none: lazyregexp.New(`No test modules found`)},
	{name: "bazel", typ: Test, fail: lazyregexp.New(`(?m)^//\S+\s+(?:FAILED in |FAILED TO BUILD|TIMEOUT in )`), count: lazyregexp.New(`(?m)^Executed \d+ out of (?P<total>\d+) tests?: (?P<words>.*)$`), none: lazyregexp.New(`No test targets were found`)},
	{name: "swift", typ: Test, fail: lazyregexp.New(`(?m)^Test Case '.*' failed \(`), last: true, count: lazyregexp.New(`(?m)^(?:Test Suite '(?P<all>All tests|Selected tests)' \w+ at .*\n)?[ \t]*Executed (?P<total>\d+) tests?, with (?:(?P<skipped>\d+) tests? skipped and )?(?P<failed>\d+) failures?`), none: lazyregexp.New(`(?m)^[ \t]*Executed 0 tests, `)},
	{name: "swift testing", typ: Test, fail: lazyregexp.New(`(?m)^[✘􀢄] Test .* failed after `), count: lazyregexp.New(`(?m)^\S+ Test run with (?P<total>\d+) tests?(?: in \d+ suites?)? (?:passed after .*|failed after .* with (?P<failed>\d+) issues?\.)$`), none: lazyregexp.New(`(?m)^\S+ Test run with 0 tests `)},
	{name: "prove", typ: Test, fail: lazyregexp.New(`(?m)^Failed \d+/\d+ (?:subtests|test programs)|^Result: FAIL$`), count: lazyregexp.New(`(?m)^Files=\d+, Tests=(?P<total>\d+),`),
		more: lazyregexp.New(`(?m)^\S.*\(Wstat: .*Failed: (?P<failed>\d+)\)$`)},
	{name: "dart, flutter", typ: Test, last: true, count: lazyregexp.New(`(?m)^\d\d:\d\d \+(?P<passed>\d+)(?: ~(?P<skipped>\d+))?(?: -(?P<failed>\d+))?: (?:All|Some) tests`), none: lazyregexp.New(`(?m)^No tests ran\.$|^No tests match `)},
	{name: "elm-test, alcotest", typ: Test, fail: lazyregexp.New(`(?m)^TEST RUN FAILED$`), none: lazyregexp.New(`(?m)^Invalid request \(no tests to run, `),
		count: lazyregexp.New(`(?m)^(?:Duration: .*\n(?P<words>Passed: +\d+\nFailed: +\d+)|(?:Test Successful|(?P<failed>\d+) (?:errors?|failures?)!) in [\d.]+s\. (?P<total>\d+) tests? run\.)$`)},
	{name: "Julia", typ: Test, fail: lazyregexp.New(`(?m)^\S.*: (?:Test Failed|Error During Test) at |^ERROR: (?:LoadError: )?There was an error during testing`), ran: lazyregexp.New(`(?m)^ +Testing \S+ tests passed *$`),
		count: lazyregexp.New(`(?m)^(?:ERROR: (?:LoadError: )?Some tests did not pass: (?P<passed>\d+) passed, (?P<failed>\d+) failed, (?P<errors>\d+) errored(?:, \d+ broken)?\.|` +
			`Test Summary: *\| +Pass  (?:Broken  )?Total.*\n[^|\n]*\| +\d+ +(?:(?P<skipped>\d+) +)?(?P<total>\d+)(?: .*)?)$`)},
	{name: "cucumber, behave", typ: Test, count: lazyregexp.New(`(?m)^(?:\d+ scenarios? \((?P<words>[^)\n]+)\)|(?P<passed>\d+) scenarios? passed, (?P<failed>\d+) failed, (?P<skipped>\d+) skipped(?:, \d+ \w+)*)$`), none: lazyregexp.New(`(?m)^0 scenarios$`)},
	{name: "Boost.Test, CppUnit, QtTest", typ: Test, fail: lazyregexp.New(`(?m)^\*\*\* \d+ failures? (?:is|are) detected in the test module |^!!!FAILURES!!!$`), ran: lazyregexp.New(`(?m)^\*\*\* No errors detected$`),
		count: lazyregexp.New(`(?m)^(?:OK \((?P<passed>\d+)\)|(?:Run:\s+(?P<total>\d+)|Totals:)\s+(?P<words>Failures: \d+\s+Errors: \d+|\d+ passed, \d+ failed, \d+ skipped).*)$`)},
	{name: "ScalaTest", typ: Test, whole: true, count: lazyregexp.New(`(?m)^(?:\[info\] )?Tests: succeeded (?P<passed>\d+), failed (?P<failed>\d+), canceled \d+, ignored (?P<skipped>\d+), pending \d+$`)},
	{name: "Robot Framework", typ: Test, last: true, count: lazyregexp.New(`(?m)^\d+ tests?, (?P<words>\d+ passed, \d+ failed(?:, \d+ skipped)?)$`)},
	{name: "crystal, LuaUnit", typ: Test, count: lazyregexp.New(`(?m)^(?:(?P<total>\d+) examples?, (?P<words>\d+ failures?, \d+ errors?, \d+ pending)|Ran \d+ tests in [\d.]+ seconds, (?P<passed>\d+) success(?:es)?, (?P<failed>\d+) failures?(?:, (?P<errors>\d+) errors?)?(?:, (?P<skipped>\d+) skipped)?)$`)},
	{name: "busted", typ: Test, count: lazyregexp.New(`(?m)^(?P<passed>\d+) success(?:es)? / (?P<failed>\d+) failures? / (?P<errors>\d+) errors? / (?P<skipped>\d+) pending`)},
	{name: "zig, eunit, tasty", typ: Test, count: lazyregexp.New(`(?m)^(?:(?P<passed>\d+) passed; (?P<skipped>\d+) skipped; (?P<failed>\d+) failed\.|\s*All (?P<total>\d+) tests passed(?:\.| \([\d.]+s\))|Build Summary: .*; (?P<words>\d+/\d+ tests passed(?:; \d+ (?:skipped|failed))*))$`)},
	{name: "doctest of Python", typ: Test, count: lazyregexp.New(`(?m)^\*\*\*Test Failed\*\*\* (?P<failed>\d+) failures?\.`)},
	{name: "jest in JSON", typ: Test, count: lazyregexp.New(`"numFailedTests": ?(?P<failed>\d+),[^{[]*"numPassedTests": ?(?P<passed>\d+),[^{[]*"numPendingTests": ?(?P<skipped>\d+)`)},
	{name: "vitest in JSON", typ: Test, count: lazyregexp.New(`"numTotalTests": ?\d+,\s*"numPassedTests": ?(?P<passed>\d+),\s*"numFailedTests": ?(?P<failed>\d+),\s*"numPendingTests": ?(?P<skipped>\d+)`)},
	{name: "mocha in JSON", typ: Test, count: lazyregexp.New(`"passes": (?P<passed>\d+),\s+"pending": (?P<skipped>\d+),\s+"failures": (?P<failed>\d+),`)},
	{name: "playwright in JSON", typ: Test, count: lazyregexp.New(`"expected": (?P<passed>\d+),\s+"skipped": (?P<skipped>\d+),\s+"unexpected": (?P<failed>\d+),`)},
	{name: "rspec in JSON", typ: Test, count: lazyregexp.New(`"example_count":(?P<total>\d+),"failure_count":(?P<failed>\d+),"pending_count":(?P<skipped>\d+)(?:,"errors_outside_of_examples_count":(?P<errors>\d+))?`)},
	{name: "ginkgo, Pester, testthat, Criterion", typ: Test, count: lazyregexp.New(`(?m)^(?:(?:SUCCESS|FAIL)! -- |Tests |\[====\] Synthesis: Tested: \d+ \| |\[ )(?P<words>(?:\d+ Passed \||Passed: \d+, Failed:|Passing: \d+ \||FAIL \d+ \| WARN \d+ \|).*?) ?\]?$`)},
	{name: "a plain closing line", typ: Test, count: lazyregexp.New(`(?m)^(?:\w+[:!] )?(?:(?P<passed>\d+) passed, (?:no failures|(?P<failed>\d+) (?:failed|failures?))(?:, (?P<skipped>\d+) skipped)?|(?P<words>[1-9]\d* failed(?:, \d+ (?:passed|skipped))*))\.?$`)},
	{name: "npm init", none: lazyregexp.New(`(?m)^Error: no test specified$`)}, // what it writes for a script of tests
	{name: "turbo, Nx, lerna", none: lazyregexp.New(`(?m)^\s*No tasks were executed as part of this run\.$|^\s*NX\s+No (?:tasks were run|projects with target)|^lerna \w+ run No packages found with `)},
	{name: "an assertion", typ: Test, fail: lazyregexp.New(`(?m)^(?:\w+\.)*AssertionError\b|^\s+(?:Uncaught )?AssertionError\b|\bERR_ASSERTION\b|^panicked at |^FAIL: |: Assertion .*' failed\.?$`)},
	{name: "sanitizers, valgrind", typ: Test, fail: lazyregexp.New(`(?m)^(?:==\d+==)?(?:ERROR|WARNING): \w+Sanitizer: |^\S+:\d+:\d+: runtime error: |^==\d+== ERROR SUMMARY: [1-9]`)},

	// Formatters.
	{name: "black, ruff format", typ: Format, fail: lazyregexp.New(`(?m)^would reformat |^\d+ files? would be (?:reformatted|changed)|^Would reformat: `)},
	{name: "prettier", typ: Format, fail: lazyregexp.New(`(?m)^\[(?:warn|error)\] Code style issues|^Code style issues found`)},
	{name: "rustfmt", typ: Format, fail: lazyregexp.New(`(?m)^Diff in .*\.rs`)},
	{name: "gofmt", typ: Format, fail: lazyregexp.New(`(?m)not gofmt|^diff \S+\.go\.orig \S+\.go$|^File is not properly formatted`)},
	{name: "clang-format", typ: Format, fail: lazyregexp.New(`\[-Wclang-format-violations\]`)},
	{name: "biome, dprint, spotless", typ: Format, fail: lazyregexp.New(`(?m)^\S+ format ━|have non-standard format|had format violations:|^from \S+:\n`)},

	// Checkers of types.
	{name: "tsc", typ: Type, fail: lazyregexp.New(`(?m)\berror (?:TS\d+|ts\(\d+\)): |^(?:error: )?TS\d+ \[ERROR\]: |^svelte-check found [1-9]`)},
	{name: "mypy", typ: Type, fail: lazyregexp.New(`(?m)^[^\s:][^:\n]*\.pyi?:\d+:(?:\d+:)? error: .*\[[a-z]+(?:-[a-z]+)*\]$|^Found \d+ errors? in \d+ files? `)},
	{name: "pyright", typ: Type, fail: lazyregexp.New(`(?m)- error: .*\(report\w+\)$|^[1-9]\d* errors?, \d+ warnings?, \d+ (?:informations?|notes)\b`)},
	{name: "rustc, types", typ: Type, fail: lazyregexp.New(`(?m)^error\[E0308\]: `)},
	{name: "flow, sorbet, ty", typ: Type, fail: lazyregexp.New(`(?m)^Error -{5,}|https://srb\.help/\d+$|^error\[[a-z]+(?:-[a-z]+)+\]: .*\n\s+--> \S.*\.pyi?:`)},

	// Linters.
	{name: "eslint, stylelint, standard, oxlint", typ: Lint, fail: lazyregexp.New(`(?m)^✖ \d+ problems?|^\S.*: line \d+, col \d+, (?:Error|Warning) - |^\S[^:\n]*:\d+:\d+: .* \[(?:Error|Warning)/[\w@/-]+\]$|^\[\{"filePath":"|^standard: |^  [×⚠!x] [\w-]+\([\w-]+\): `)},
	{name: "deno lint", typ: Lint, fail: lazyregexp.New(`(?m)^\s+docs: https://(?:docs\.deno\.com/lint|lint\.deno\.land)/`)},
	{name: "ruff, flake8, pylint", typ: Lint, fail: lazyregexp.New(`(?m)^\S[^:\n]*:\d+:\d+: [A-Z]{1,4}\d{3,4}\b|^[A-Z]{1,4}\d{3,4} (?:\[\*\] )?.*\n\s+--> |^\*{13} Module `)},
	{name: "golangci-lint, staticcheck", typ: Lint, fail: lazyregexp.New(`(?m)^\S+\.go:\d+(?::\d+)?: .* \((?:[a-z][\w-]+|(?:SA|ST|S|U|QF)\d+)\)$|^\d+ issues:$`)},
	{name: "go vet", typ: Lint, fail: lazyregexp.New(`(?m)^# \[\S+\]$`)},
	{name: "clippy", typ: Lint, fail: lazyregexp.New("(?m)clippy::\\w+")},
	{name: "clang-tidy, cppcheck, swiftlint", typ: Lint, fail: lazyregexp.New(`(?m)` + place + `:\d+: (?:warning|error): .* (?:\[[a-z]+[\w.]*-[\w.,-]+\]|\([a-z]+(?:_[a-z]+)+\))$`)},
	{name: "rubocop", typ: Lint, fail: lazyregexp.New(`(?m)^\S+\.rb:\d+:\d+: [CWEF]: |^\d+ files? inspected, \d+ offenses? detected`)},
	{name: "shellcheck", typ: Lint, fail: lazyregexp.New(`(?m)^In \S+ line \d+:$|\bSC\d{4} \((?:error|warning|info|style)\)|\[SC\d{4}\]$`)},
	{name: "biome", typ: Lint, fail: lazyregexp.New(`(?m)^\S+:\d+:\d+ lint/\w+/\w+ `)},
	{name: "checkstyle, ktlint, detekt", typ: Lint, fail: lazyregexp.New(`(?m)^\[(?:ERROR|WARN)\] \S.*:\d+:.* \[\w+\]$|^\[(?:ERROR|WARNING)\] \S.*:\[\d+(?:,\d+)?\] \(\w+\) \w+: |^\S[^:\n]*\.kts?:\d+:\d+: .* (?:\((?:standard:)?[\w-]+\)|\[[A-Z]\w+\])$`)},
	{name: "phpcs, phpstan", typ: Lint, fail: lazyregexp.New(`(?m)^FOUND \d+ ERRORS?|^ \[ERROR\] Found \d+ errors?`)},
	{name: "yamllint, actionlint, hadolint, markdownlint", typ: Lint, fail: lazyregexp.New(`(?m)^\s+\d+:\d+\s+(?:error|warning)\s+.*\([\w-]+\)$|^\S[^:\n]*:\d+:\d+: \[(?:error|warning)\] |^\S[^:\n]*\.ya?ml:\d+:\d+: .* \[[a-z-]+\]$|^\S[^:\n]*:\d+ (?:DL|SC)\d{4} |^\S[^:\n]*\.md:\d+(?::\d+)? (?:error )?MD\d{3}/`)},
	{name: "dart analyze", typ: Lint, fail: lazyregexp.New(`(?m)^\s*(?:error|warning|info) [•-] .*:\d+:\d+ [•-] `)},

	// Compilers and interpreters.
	{name: "go", typ: Build, fail: lazyregexp.New(`(?m)^(?:vet: )?\S[^:\n]*\.go:\d+(?::\d+)?: |^FAIL\t\S+ \[(?:build|setup) failed\]$|^package \S+\n\timports |^found packages \S+ \(|^(?:no Go files in|malformed import path|go: go\.mod file not found) `)},
	{name: "gcc, clang, swiftc, ghc, zig, dart", typ: Build, fail: lazyregexp.New(`(?m)` + place + `:(?:\d+:)? (?:fatal )?[eE]rror(?:\[E\d+\])?: |undefined reference to|^ld: (?:error|symbol)`)},
	{name: "gcc, javac in other languages", typ: Build, fail: lazyregexp.New(`(?m)` + place + `:(?:\d+:)? (?:` + translated + `) ?[:：]`)},
	{name: "rustc", typ: Build, fail: lazyregexp.New(`(?m)^error(?:\[E\d+\])?: .*\n\s+--> |^error: could not compile|^error\[E\d+\]: `)},
	{name: "javac, kotlinc, scalac", typ: Build, fail: lazyregexp.New(`(?m)^\S[^:\n]*\.java:\d+: error: |^e: |^\[ERROR\] COMPILATION ERROR|^\[ERROR\] \S+:\[\d+,\d+\]|^\[error\] \S+:\d+:\d+: |^(?:\[error\] )?-- (?:\[E\d+\] )?.*Error: `)},
	{name: "csc", typ: Build, fail: lazyregexp.New(`(?m)\(\d+(?:,\d+)?\): (?:fatal )?error (?:CS|FS|BC|MSB|C)\d+: | : (?:fatal )?error (?:LNK|MSB)\d+: `)},
	{name: "ocaml, gfortran, nim, erlc, crystal", typ: Build, fail: lazyregexp.New(`(?m)^File ".*", lines? [\d-]+, characters [\d-]+:\n(?:.*\n){0,20}?Error(?: \(.*\))?: |^\S[^:\n]*:\d+:\d+:\n\n(?:.*\n){1,3}(?:Fatal )?Error: |^\S.*\.nims?\(\d+, \d+\) Error: |^\S[^:\n]*\.erl:\d+:(?:\d+:)? [^W\s]|^In \S.*:\d+:\d+\n\n(?:.*\n){1,4}Error: |^-- [A-Z ]+ -{5,} \S.*\.elm$`)},
	{name: "python", typ: Build, fail: lazyregexp.New(`(?m)^Traceback \(most recent call last\):|^\s*(?:Syntax|Indentation|Tab|Name|Import|Type|Attribute)Error: `)},
	{name: "node", typ: Build, fail: lazyregexp.New(`(?m)^\s*(?:Uncaught )?(?:Syntax|Reference|Type|Range)Error(?: \[\w+\])?: |^(?:Error: )?Cannot find module '\.`)},
	{name: "esbuild, vite, webpack, rollup", typ: Build, fail: lazyregexp.New(`(?m)^✘ \[ERROR\]|^ERROR in |^Module not found: |^\[!\] `)},
	{name: "ruby, php, perl, elixir", typ: Build, fail: lazyregexp.New(`(?m)^\S[^:\n]*\.rb:\d+:in |^\S[^:\n]*\.rb:\d+: syntax error|^(?:PHP )?(?:Parse|Fatal) error: |^Compilation failed in require|^syntax error at \S+ line \d+, near |^\*\* \((?:Compile|Syntax|Token)\w*Error\)`)},
	{name: "gradle build", typ: Build, fail: lazyregexp.New(`(?m)^BUILD FAILED\b|^FAILURE: Build failed`)},
	{name: "cmake, terraform", typ: Build, fail: lazyregexp.New(`(?m)^CMake Error at |^\s*on \S+ line \d+, in `)},
	{name: "go panic", typ: Build, fail: lazyregexp.New(`(?m)^panic: .*\n(?:\[signal .*\n)?\ngoroutine \d+ `)},
	{name: "make", typ: Build, fail: lazyregexp.New(`(?m)^\S*make(?:\[\d+\])?: \*\*\* `)},
}

// A Reading is the result of matching an output with the formats. The zero value means that no
// format matches: nothing is known.
type Reading struct {
	Formats []string // that read something
	Types   []string // of problems that they show, as the formats are listed
	Counted bool     // a runner has summed up, or reported each test
	None    bool     // a runner reports that there was no test to run

	Passed, Failed, Skipped int
}

// Known reports whether a format reads the output.
func (r *Reading) Known() bool { return len(r.Formats) > 0 }

// Failing reports whether tests ran and failed: then the rest of the output is the tests'.
func (r *Reading) Failing() bool { return r.Failed > 0 || slices.Contains(r.Types, Test) }

var (
	// Task runners of monorepos put a prefix before each line: turbo, pnpm, Nx, lerna,
	// concurrently. The pattern lists the usual tasks, so that compilers' output is not taken for
	// a prefix.
	taskPrefix  = lazyregexp.New(`^(?:\[[^\]\s]*\w[^\]\s]*\]:? |@?[\w./-]+[: ](?:test|unit|e2e|spec|lint|build|check|type-?check|types|ci|verify)[\w:-]*: |@?[\w./-]+[: ](?:test|unit|e2e|spec|lint|build|check|type-?check|types|ci)[\w:-]* *\| )`)
	loosePrefix = lazyregexp.New(`^(@?[\w./-]+(?::\w[\w-]*)*: |[\w./@-]+ +\| )`)
	levels      = []string{"[INFO]", "[ERROR]", "[WARNING]", "[WARN]", "[warn]", "[error]", "[info]", "[DEBUG]", "[!]"}
)

// mostText bounds the bytes of an output that the formats are tried on: that takes some seconds for
// each megabyte. Programs sum up at the end, so most of it is from there.
const mostText = 512 << 10

// bounded returns the first quarter and the end of a text that is too long, in whole lines.
func bounded(text string) string {
	if len(text) <= mostText {
		return text
	}
	head, tail := text[:mostText/4], text[len(text)-mostText*3/4:]
	return head[:strings.LastIndexByte(head, '\n')+1] + tail[strings.IndexByte(tail, '\n')+1:]
}

// Read reads an output by the formats that are known.
func Read(output string) Reading {
	text := bounded(goText(unwrap(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(Plain(output)))))
	out := read(text)
	if bare, prefix := unprefixed(text); prefix != "" {
		certain := strings.TrimSpace(prefix) == "" || taskPrefix.MatchString(prefix)
		if r := read(bare); r.Known() && certain || r.Counted && !out.Counted || r.Known() && !out.Known() {
			text, out = bare, r
		}
	}
	out.None = out.None && !beside(text)
	if out.Counted || out.None {
		if parts := split(text, taskPrefix); len(parts) < 2 {
			return out
		}
	}
	for _, prefix := range []*lazyregexp.Regexp{taskPrefix, loosePrefix} {
		parts := split(text, prefix)
		if len(parts) == 0 || prefix == loosePrefix && (out.Known() || len(parts) > mostParts) {
			continue
		}
		var sum Reading
		for _, part := range parts {
			sum.add(read(part))
		}
		sum.None = sum.None && out.None
		if sum.Counted || sum.Known() && !out.Known() && prefix == taskPrefix {
			sum.add(Reading{Formats: out.Formats, Types: out.Types})
			return sum
		}
	}
	return out
}

var works = lazyregexp.New(`(?m)^\s*[^\s>$]`) // a line that is no echo of a command

// header matches lines that a package manager prints before a script, and make before a directory.
var header = lazyregexp.New(`^(?:> \S+@\S+ \S+|> \S+:[\w:-]+|make\[\d+\]: Entering directory .*)$`)

// beside reports whether a part of a monorepo has run something else than a test runner
// that found no test.
func beside(text string) bool {
	parts, heads := split(text, taskPrefix), strings.Builder{}
	part := ""
	for line := range strings.Lines(text) {
		if h := header.FindString(strings.TrimSpace(line)); h != "" {
			part = h
		} else if part != "" {
			heads.WriteString("[" + strings.ReplaceAll(strings.ReplaceAll(part, " ", "_"), "]", "_") + "] " + line)
		}
	}
	for _, part := range append(parts, split(heads.String(), taskPrefix)...) {
		if r := read(part); !r.None && works.MatchString(part) {
			return true
		}
	}
	return false
}

// mostParts of a monorepo are known by prefixes that name no task.
const mostParts = 50

// split returns the text of each part of a monorepo without the prefixes, and the text without a
// prefix. It is nil if no line has one.
func split(text string, prefix *lazyregexp.Regexp) (parts []string) {
	var names []string
	byName := map[string]*strings.Builder{}
	found := false
	for line := range strings.Lines(text) {
		name := strings.TrimSpace(prefix.FindString(line))
		if name != "" && slices.Contains(levels, name) {
			name = ""
		}
		if name != "" {
			line, found = line[len(prefix.FindString(line)):], true
		}
		if byName[name] == nil {
			names, byName[name] = append(names, name), &strings.Builder{}
		}
		byName[name].WriteString(line)
	}
	if !found {
		return nil
	}
	for _, name := range names {
		parts = append(parts, byName[name].String())
	}
	return parts
}

func (r *Reading) add(o Reading) {
	for _, f := range o.Formats {
		if !slices.Contains(r.Formats, f) {
			r.Formats = append(r.Formats, f)
		}
	}
	for _, t := range o.Types {
		if !slices.Contains(r.Types, t) {
			r.Types = append(r.Types, t)
		}
	}
	r.Counted, r.None = r.Counted || o.Counted, r.None || o.None
	r.Passed, r.Failed, r.Skipped = r.Passed+o.Passed, r.Failed+o.Failed, r.Skipped+o.Skipped
}

func read(text string) (r Reading) {
	ran := false
	for i := range formats {
		f := &formats[i]
		failed, known := f.fail != nil && f.fail.MatchString(text), false
		if f.count != nil {
			n := f.counts(text)
			known = n.Counted
			failed = failed || n.Failed > 0
			r.add(n)
		}
		if f.ran != nil && f.ran.MatchString(text) {
			ran, known = true, true
		}
		if f.none != nil && f.none.MatchString(text) {
			r.None, known = r.None || !failed, true // one that was interrupted has found some
		}
		if failed {
			r.add(Reading{Types: []string{f.typ}})
		}
		if failed || known || f.seen != nil && f.seen.MatchString(text) {
			r.Formats = append(r.Formats, f.name)
		}
	}
	n, name := points(text), "TAP"
	if !n.Counted && !n.None {
		n, name = testCases(text), "JUnit XML"
	}
	if !r.Counted && (n.Counted || n.None) {
		r.add(n)
		r.Formats = append(r.Formats, name)
		if n.Failed > 0 {
			r.add(Reading{Types: []string{Test}})
		}
	}
	r.None = r.None && !ran && r.Passed+r.Failed+r.Skipped == 0
	return r
}

// counted is a number with what it counts, before it or behind it.
var counted = lazyregexp.New(`(\d+)(?:/\d+)? (?:tests? |was |were )?(expected fail|known failures?|[A-Za-z]+(?: as expected)?)|([A-Za-z]+(?: [A-Za-z]+)*)[=:] *(\d+)|(pass|fail|cancelled|skip|skipped|todo|PASS|FAIL|SKIP)\s+(\d+)`)

// The words by which runners count, in small letters, as far as they begin so; a blank ends a word.
var (
	ofPassed  = []string{"pass", "success", "succe", "xpassed", "flaky", "failed as expected", "expected fail ", "known failure"}
	ofSkipped = []string{"skip", "pending", "todo", "xfailed", "did", "incomplete", "excluded", "ignored", "inconclusive"}
	ofFailed  = []string{"fail", "error", "timed", "interrupted", "cancelled", "invalid", "unexpected successes"}
)

// summaries returns the matches of count, without those of a run that is summed up again.
func (f *format) summaries(text string) [][]string {
	count := f.count.Regexp()
	at := count.FindAllStringSubmatchIndex(text, -1)
	if f.whole {
		at = withoutRepeats(text, at)
	}
	var out [][]string
	for _, m := range at {
		var groups []string
		for i := 0; i < len(m); i += 2 {
			group := ""
			if m[i] >= 0 {
				group = text[m[i]:m[i+1]]
			}
			groups = append(groups, group)
		}
		out = append(out, groups)
	}
	return out
}

// inBrackets matches details that the number before them already includes: 3 passed (1 slow, 1
// flaky).
var inBrackets = lazyregexp.New(`\([^)\n]*\)`)

// counts sums up a runner's own counts.
func (f *format) counts(text string) (r Reading) {
	last := map[string][]string{}
	var order []string
	group := func(m []string, name string) string {
		if i := f.count.SubexpIndex(name); i >= 0 {
			return m[i]
		}
		return ""
	}
	found := f.summaries(text)
	whole := func(m []string) bool { return group(m, "all") != "" }
	some := slices.ContainsFunc(found, whole)
	for i, m := range found {
		key := strconv.Itoa(i)
		if some && !whole(m) {
			continue
		}
		if f.last && !some {
			key = strings.TrimSpace(group(m, "of"))
		}
		if last[key] == nil {
			order = append(order, key)
		}
		last[key] = m
	}
	for _, key := range order {
		m := last[key]
		number := func(name string) int { n, _ := strconv.Atoi(group(m, name)); return n }
		total := number("total") + number("doctests") + number("properties")
		r.Counted = true
		if words := inBrackets.ReplaceAllString(group(m, "words"), ""); words != "" {
			n := countWords(words)
			if n.Passed == 0 {
				n.Passed = max(0, total-n.Failed-n.Skipped)
			}
			r.Passed, r.Failed, r.Skipped = r.Passed+n.Passed, r.Failed+n.Failed, r.Skipped+n.Skipped
			continue
		}
		bad, passed := number("failed")+number("errors"), number("passed")
		if group(m, "total") != "" && group(m, "passed") == "" {
			passed = max(0, total-bad-number("skipped"))
		}
		if f.name == "uvu" {
			bad = max(0, total-passed) // skipped ones are beside the total
		}
		r.Passed, r.Failed, r.Skipped = r.Passed+passed, r.Failed+bad, r.Skipped+number("skipped")
	}
	if f.more != nil && r.Counted {
		for _, m := range f.more.FindAllStringSubmatch(text, -1) {
			if i := f.more.SubexpIndex("failed"); i >= 0 {
				n, _ := strconv.Atoi(m[i])
				r.Passed, r.Failed = max(0, r.Passed-n), r.Failed+n
				continue
			}
			if r.Skipped++; m[f.more.SubexpIndex("among")] != "" {
				r.Passed = max(0, r.Passed-1)
			}
		}
	}
	return r
}

// countWords sums up a text such as "3 passed, 1 failed".
func countWords(words string) (r Reading) {
	for _, c := range counted.FindAllStringSubmatch(words, -1) {
		n, _ := strconv.Atoi(c[1] + c[4] + c[6])
		is := func(list []string) bool {
			return slices.ContainsFunc(list, func(w string) bool { return strings.HasPrefix(strings.ToLower(c[2]+c[3]+c[5])+" ", w) })
		}
		switch {
		case is(ofPassed):
			r.Passed += n
		case is(ofFailed):
			r.Failed += n
		case is(ofSkipped):
			r.Skipped += n
		}
	}
	return r
}

var (
	tapPlan  = lazyregexp.New(`(?m)^1\.\.\d+`)
	tapPoint = lazyregexp.New(`(?m)^(not )?ok\b(?: \d+\b)?(.*)$`)
	tapDir   = lazyregexp.New(`(?i)\s#\s*(skip|todo)\b`)
)

// points counts the results of the Test Anything Protocol that begin at the left margin.
func points(text string) (r Reading) {
	if !tapPlan.MatchString(text) {
		return r
	}
	r.None = strings.Contains("\n"+text, "\n1..0")
	for _, m := range tapPoint.FindAllStringSubmatch(text, -1) {
		r.Counted = true
		switch {
		case tapDir.MatchString(" " + m[2]):
			r.Skipped++
		case m[1] != "":
			r.Failed++
		default:
			r.Passed++
		}
	}
	return r
}

// testCases counts the results of reports in the XML of JUnit, whichever way their suites are nested.
func testCases(text string) (r Reading) {
	if !strings.Contains(text, "<testsuite") {
		return r
	}
	in := func(element string) int {
		return strings.Count(text, "<"+element+" ") + strings.Count(text, "<"+element+">") + strings.Count(text, "<"+element+"/>")
	}
	r.Failed, r.Skipped = in("failure")+in("error"), in("skipped")
	r.Passed = max(0, in("testcase")-r.Failed-r.Skipped)
	r.Counted = r.Passed+r.Failed+r.Skipped > 0
	r.None = !r.Counted
	return r
}

// goText replaces the events of `go test -json` in an output by the go command's text without
// -json, package by package.
func goText(output string) string {
	if !strings.Contains(output, `"Action":"`) {
		return output
	}
	var order []string
	var other strings.Builder
	of := map[string]*strings.Builder{}
	for line := range strings.Lines(output) {
		var e struct{ Action, Package, ImportPath, Output string }
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
			other.WriteString(line)
			continue
		}
		name := e.Package + e.ImportPath
		if of[name] == nil {
			order, of[name] = append(order, name), &strings.Builder{}
		}
		of[name].WriteString(e.Output)
	}
	for _, name := range order {
		other.WriteString(of[name].String())
	}
	return other.String()
}
