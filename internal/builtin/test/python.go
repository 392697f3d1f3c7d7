package test

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

var (
	pyRule    = lazyregexp.New(`^[=_]{3,} .+ [=_]{3,}$|^[=_]{5,} *$`)
	pySection = lazyregexp.New(`^_{3,} (.+?) _{3,}$`)
	pyTotal   = lazyregexp.New(`(\d+) (passed|failed|errors?|skipped|xfailed|xpassed)`)
	pyLine    = lazyregexp.New(`^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (.+)$`)
	pyPlace   = lazyregexp.New(`(?m)^([^\s:][^:\n]*\.py):(\d+):`)
)

// readPytest reads pytest's text with -rA style summary lines. Names come from
// the short summary, counts from the last line where that has more: plugins
// and the project's own options may hide some of the former.
func readPytest(p project, out string) testResult {
	var r testResult
	body, summary := out, ""
	if i := strings.LastIndex(out, "short test summary info ="); i >= 0 {
		body, summary = out[:i], out[i:]
	}
	details := pyDetails(body)
	for l := range strings.SplitSeq(summary, "\n") {
		m := pyLine.FindStringSubmatch(strings.TrimRight(l, "\r"))
		if m == nil {
			continue
		}
		id := m[2]
		t := testCase{Status: statusPass}
		switch m[1] {
		case "FAILED", "ERROR":
			t.Status = statusFail
			if m[1] == "ERROR" {
				t.Status = statusBroken
			}
			var why string
			id, why = cutReason(id)
			t.Output = details[pyKey(id)]
			t.Output = cmp.Or(t.Output, why)
			for _, at := range pyPlace.FindAllStringSubmatch(t.Output, -1) { // the last one in the workspace
				if name := under(p.root, p.dir, at[1]); !path.IsAbs(name) || t.File == "" && t.Name != "" {
					t.File = name
					t.Line, _ = strconv.Atoi(at[2])
				}
			}
		case "SKIPPED", "XFAIL":
			t.Status = statusSkip
			id, _ = cutReason(strings.TrimLeft(id, "[]0123456789 "))
		}
		t.Package, t.Name, _ = strings.Cut(id, "::")
		if t.Status == statusBroken && t.Name == "" {
			t.File, t.Line = orFile(t, under(p.root, p.dir, t.Package))
		}
		r.add(t)
	}
	counts := pyCounts(out)
	r.Passed = max(r.Passed, counts["passed"]+counts["xpassed"])
	r.Failed = max(r.Failed, counts["failed"]+counts["error"]+counts["errors"])
	r.Skipped = max(r.Skipped, counts["skipped"]+counts["xfailed"])
	switch {
	case strings.HasSuffix(strings.TrimSpace(out), "No module named pytest"):
		r.Unavailable = true
		r.Problem = fmt.Sprintf("pytest is not installed for this Python: %s cannot be run. Install it, or have the tests run by another command: --test \"python3 -m unittest\"", p.command())
	case r.Passed+r.Failed+r.Skipped == 0 && !strings.Contains(out, "no tests ran"):
		r.Uncounted, r.Unknown = true, strings.TrimSpace(out) != "" // options or a plug-in have it print something else
	}
	return r
}

func orFile(t testCase, file string) (string, int) {
	if t.File != "" {
		return t.File, t.Line
	}
	return file, 1
}

// cutReason separates a test's id from why it failed. Ids of parametrised
// tests may hold the separator too, inside brackets.
func cutReason(s string) (id, why string) {
	from := 0
	if i := strings.IndexByte(s, '['); i >= 0 && !strings.Contains(s[:i], " - ") {
		if j := strings.LastIndexByte(s, ']'); j > i {
			if k := strings.Index(s[i:], "] - "); k >= 0 {
				j = i + k
			}
			from = j
		}
	}
	if i := strings.Index(s[from:], " - "); i >= 0 {
		return s[:from+i], s[from+i+3:]
	}
	return s, ""
}

// pyKey returns the name of the test with this id in the heading of a failure.
func pyKey(id string) string {
	file, name, ok := strings.Cut(id, "::")
	if !ok {
		return file
	}
	return strings.ReplaceAll(name, "::", ".")
}

// pyDetails is the text under each failure's heading.
func pyDetails(body string) map[string]string {
	out := map[string]string{}
	key := ""
	var b strings.Builder
	flush := func() {
		if key != "" && out[key] == "" {
			out[key] = strings.TrimSpace(b.String())
		}
		key = ""
		b.Reset()
	}
	for l := range strings.SplitSeq(body, "\n") {
		if pyRule.MatchString(l) {
			m := pySection.FindStringSubmatch(l)
			if m == nil {
				if strings.HasPrefix(l, "=") {
					flush()
				}
				continue
			}
			flush()
			key = m[1]
			for _, at := range []string{"ERROR at setup of ", "ERROR at teardown of ", "ERROR collecting "} {
				key = strings.TrimPrefix(key, at)
			}
			continue
		}
		if key != "" {
			b.WriteString(l + "\n")
		}
	}
	flush()
	return out
}

// pyCounts reads the closing line: "1 failed, 2 passed in 0.03s".
func pyCounts(out string) map[string]int {
	ls := strings.Split(strings.TrimRight(out, "\n"), "\n")
	for i := len(ls) - 1; i >= 0 && i >= len(ls)-20; i-- {
		if !strings.Contains(ls[i], " in ") {
			continue
		}
		if ms := pyTotal.FindAllStringSubmatch(ls[i], -1); ms != nil {
			n := map[string]int{}
			for _, m := range ms {
				n[m[2]], _ = strconv.Atoi(m[1])
			}
			return n
		}
	}
	return nil
}
