package test

import (
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

var (
	tapLine = lazyregexp.New(`^( *)(not ok|ok)\b ?(\d+)?(?: - | |$)?(.*)$`)
	tapDir  = lazyregexp.New(`(?i)\s#\s*(skip|todo)\b.*$`)
	tapLoc  = lazyregexp.New(`(?m)^\s*location: '(.+):(\d+):\d+'`)
)

// A point is one line "ok" or "not ok" and what followed it.
type point struct {
	depth int
	name  string
	stat  testStatus
	yaml  strings.Builder
	inner int // points below it
}

// readTAP reads the Test Anything Protocol as `node --test` writes it, with
// nested subtests: the line of a suite comes after those of its tests, and
// says nothing that they do not.
func readTAP(p project, out string) testResult {
	var r testResult
	var points []*point
	pending := map[int]int{} // depth -> points seen since the last one of a lower depth
	var cur *point
	inYAML := false
	var noise strings.Builder // what tests printed since the last point
	for l := range strings.SplitSeq(out, "\n") {
		l = strings.TrimRight(l, "\r")
		trimmed := strings.TrimSpace(l)
		if inYAML {
			if trimmed == "..." {
				inYAML = false
			} else {
				cur.yaml.WriteString(l + "\n")
			}
			continue
		}
		if cur != nil && trimmed == "---" {
			inYAML = true
			continue
		}
		m := tapLine.FindStringSubmatch(l)
		if m == nil {
			if strings.HasPrefix(trimmed, "# ") && !strings.HasPrefix(trimmed, "# Subtest: ") {
				noise.WriteString(strings.TrimPrefix(trimmed, "# ") + "\n")
			}
			continue
		}
		cur = &point{depth: len(m[1]), name: strings.TrimSpace(m[4]), stat: statusPass}
		if m[2] == "not ok" {
			cur.stat = statusFail
		}
		if d := tapDir.FindStringSubmatch(" " + m[4]); d != nil {
			cur.stat = statusSkip // neither a skipped test nor a todo is a failure
			cur.name = strings.TrimSpace(tapDir.ReplaceAllString(" "+m[4], ""))
		}
		for d, n := range pending {
			if d > cur.depth {
				cur.inner += n
				delete(pending, d)
			}
		}
		pending[cur.depth]++
		if cur.stat == statusFail {
			cur.yaml.WriteString(noise.String())
		}
		noise.Reset()
		points = append(points, cur)
	}
	for _, pt := range points {
		text := pt.yaml.String()
		if pt.inner > 0 && (pt.stat != statusFail || strings.Contains(text, "'subtestsFailed'")) {
			continue
		}
		if pt.inner == 0 && strings.Contains(text, "type: 'suite'") && pt.stat == statusPass {
			continue
		}
		t := testCase{Name: under(p.root, "", pt.name), Status: pt.stat, Output: quiet(text)}
		if m := tapLoc.FindStringSubmatch(text); m != nil {
			t.File = under(p.root, p.dir, m[1])
			t.Line, _ = strconv.Atoi(m[2])
			t.Package = t.File
		}
		r.add(t)
	}
	return r
}

// quiet drops the lines of a diagnosis that differ from run to run or repeat
// the title, and the runner's own stack frames.
func quiet(yaml string) string {
	var b strings.Builder
	for l := range strings.SplitSeq(yaml, "\n") {
		t := strings.TrimSpace(l)
		if t == "" || strings.HasPrefix(t, "duration_ms:") || strings.HasPrefix(t, "location:") || strings.Contains(t, "(node:internal/") ||
			strings.HasPrefix(t, "async ") || strings.HasPrefix(t, "failureType: 'testCodeFailure'") {
			continue
		}
		b.WriteString(l + "\n")
	}
	return b.String()
}
