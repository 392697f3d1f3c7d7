package test

import (
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/lazyregexp"
)

// A tally is how a JavaScript runner sums up. They have no common format; the
// closing lines of these are stable.
var tallies = []*lazyregexp.Regexp{
	lazyregexp.New(`(?m)^\s*Tests:?\s+((?:\d+ \w+[,| ]*)+)`),             // jest, vitest
	lazyregexp.New(`(?m)^\s*(\d+ passing|\d+ failing|\d+ pending)\b`),    // mocha
	lazyregexp.New(`(?m)^\s*[ℹ#] (pass \d+|fail \d+|skipped \d+)\s*$`),   // node's spec and tap reporters
	lazyregexp.New(`(?m)^\s*(\d+ pass|\d+ fail|\d+ skip)\s*$`),           // bun
	lazyregexp.New(`(?m)^\s*(\d+ tests? (?:passed|failed|skipped))\s*$`), // ava
}

var (
	counted  = lazyregexp.New(`(\d+) (?:tests? )?(pass|fail|skip|pending|todo)\w*|(pass|fail|skipped) (\d+)`)
	jestFail = lazyregexp.New(`(?m)^\s*(?:●|FAIL|✖|×)\s+(\S.*)$`)
)

// readNPM reads whatever `npm test` ran: TAP in full, of others the counts and
// the names of what failed.
func readNPM(p project, out string) testResult {
	if strings.Contains(out, "TAP version 1") {
		return readTAP(p, out)
	}
	var r testResult
	for _, re := range tallies {
		found := false
		for _, m := range re.FindAllStringSubmatch(out, -1) {
			for _, c := range counted.FindAllStringSubmatch(m[1], -1) {
				n, _ := strconv.Atoi(c[1] + c[4])
				switch word := c[2] + c[3]; {
				case strings.HasPrefix(word, "pass"):
					r.Passed += n
				case strings.HasPrefix(word, "fail"):
					r.Failed += n
				default:
					r.Skipped += n
				}
				found = true
			}
		}
		if found {
			break
		}
	}
	if r.Failed == 0 {
		return r
	}
	seen := map[string]bool{}
	for _, m := range jestFail.FindAllStringSubmatch(out, -1) {
		name := strings.TrimSpace(m[1])
		if seen[name] || len(seen) == mostShown {
			continue
		}
		seen[name] = true
		r.Tests = append(r.Tests, testCase{Name: name, Status: statusFail})
	}
	r.Problem = clip(strings.TrimSpace(out))
	return r
}
