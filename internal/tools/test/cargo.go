package test

import (
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

var (
	rustRun    = lazyregexp.New(`^\s+(?:Running (?:unittests )?(\S+)|Doc-tests (\S+))`)
	rustTarget = lazyregexp.New(`(?m)^\s+(?:Running (?:unittests )?\S+|Doc-tests \S+)`)
	rustCount  = lazyregexp.New(`(?m)^running \d+ tests?$`)
	rustTest   = lazyregexp.New(`^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b`)
	rustStart  = lazyregexp.New(`^test (.+?)(?: - should panic)? \.\.\. `)
	rustHead   = lazyregexp.New(`^---- (.+?) (?:stdout|stderr) ----$`)
	rustPlace  = lazyregexp.New(`panicked at (?:'.*', )?([^\s:]+\.rs):(\d+):\d+`)
	rustError  = lazyregexp.New(`^error(\[E\d+\])?: `)
	rustThere  = lazyregexp.New(`(?m)^\s+--> ([^\s:]+):(\d+):\d+`)
)

// readCargo reads the text of `cargo test`; its JSON is not stable yet.
func readCargo(p project, out string) testResult {
	var r testResult
	var tests []testCase
	details := map[string]*strings.Builder{}
	pkg, head := "", ""
	var compile strings.Builder
	compiling := false
	for l := range strings.SplitSeq(out, "\n") {
		l = strings.TrimRight(l, "\r")
		if m := rustRun.FindStringSubmatch(l); m != nil {
			pkg, head, compiling = m[1]+m[2], "", false
			continue
		}
		if m := rustTest.FindStringSubmatch(l); m != nil {
			status := map[string]testStatus{"ok": statusPass, "FAILED": statusFail, "ignored": statusSkip}[m[2]]
			tests = append(tests, testCase{Name: m[1], Package: pkg, Status: status})
			continue
		}
		if m := rustStart.FindStringSubmatch(l); m != nil && strings.HasSuffix(l, "... ") {
			tests = append(tests, testCase{Name: m[1], Package: pkg, Status: statusBroken, Output: "it never ended"})
			continue
		}
		switch m := rustHead.FindStringSubmatch(l); {
		case m != nil:
			head = pkg + " " + m[1]
			continue
		case l == "failures:" || strings.HasPrefix(l, "test result:"):
			head = ""
		case rustError.MatchString(l) && !strings.HasPrefix(l, "error: test failed") && !strings.HasSuffix(l, "target failed:") && !strings.HasSuffix(l, "targets failed:"):
			compiling = true
		}
		switch {
		case head != "":
			grow(details, head).WriteString(l + "\n")
		case compiling:
			compile.WriteString(l + "\n")
		}
	}
	for _, t := range tests {
		if t.Status == statusFail {
			t.Output = strings.TrimSpace(grow(details, t.Package+" "+t.Name).String())
			if m := rustPlace.FindStringSubmatch(t.Output); m != nil {
				t.File = under(p.root, p.dir, m[1])
				t.Line, _ = strconv.Atoi(m[2])
			}
		}
		r.add(t)
	}
	if text := strings.TrimSpace(compile.String()); text != "" && strings.Contains(text, "could not compile") {
		t := testCase{Package: pkg, Status: statusBroken, Output: text}
		if m := rustThere.FindStringSubmatch(text); m != nil {
			t.File = under(p.root, p.dir, m[1])
			t.Line, _ = strconv.Atoi(m[2])
		}
		r.add(t)
	} else if len(tests) == 0 && text != "" {
		r.Problem = clip(text)
	}
	if len(tests) == 0 && r.Failed == 0 { // quiet, or of a harness that is not Rust's own
		n := problem.Read(out)
		r.Passed, r.Failed, r.Skipped = n.Passed, n.Failed, n.Skipped
		r.Uncounted = n.Passed+n.Failed == 0 && len(rustTarget.FindAllString(out, -1)) > len(rustCount.FindAllString(out, -1))
		r.Unknown = r.Uncounted && !n.Known()
	}
	return r
}
