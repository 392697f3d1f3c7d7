package test

import (
	"cmp"
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// An action is a line of `go test -json` (see `go doc test2json`).
type action struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

type goTest struct {
	status   testStatus
	out      strings.Builder
	children int
	bad      bool // a child failed
}

var goPlace = lazyregexp.New(`(?m)^\s+(\S+\.go):(\d+):|^\s+(\S+_test\.go):(\d+) \+0x`)

// goBroken is a place that the compiler or go vet names.
var goBroken = lazyregexp.New(`(?m)^(?:vet: )?(\S+\.go):(\d+):\d+: `)

// A goReport is the output of `go test -json`, test by test.
type goReport struct {
	order  []string // keys of tests, package and name, as they appeared
	tests  map[string]*goTest
	pkgs   []string
	output map[string]*strings.Builder // of packages
	failed map[string]string           // packages, with the build that failed
	builds map[string]*strings.Builder // their output
	loose  strings.Builder             // lines that are no JSON
}

// readGo reads `go test -json`. Lines that are no JSON come from the go
// command itself and matter when it could not even start. A test with
// subtests counts only if it failed by itself: one fault is one failure.
func readGo(p project, out string) testResult {
	g := &goReport{tests: map[string]*goTest{}, output: map[string]*strings.Builder{}, failed: map[string]string{}, builds: map[string]*strings.Builder{}}
	for l := range strings.SplitSeq(out, "\n") {
		g.add(l)
	}
	g.finish()
	return g.result(p)
}

// add reads a line.
func (g *goReport) add(line string) {
	var a action
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &a) != nil || a.Action == "" {
		if strings.TrimSpace(line) != "" {
			g.loose.WriteString(line + "\n")
		}
		return
	}
	switch {
	case a.Action == "build-output":
		grow(g.builds, a.ImportPath).WriteString(a.Output)
	case a.Test == "" && a.Action == "output":
		grow(g.output, a.Package).WriteString(a.Output)
	case a.Test == "" && a.Action == "start":
		g.pkgs = append(g.pkgs, a.Package)
	case a.Test == "" && a.Action == "fail":
		g.failed[a.Package] = a.FailedBuild
	case a.Test != "":
		t := g.test(a)
		switch a.Action {
		case "output":
			if !strings.HasPrefix(a.Output, "=== ") && !strings.HasPrefix(strings.TrimLeft(a.Output, " "), "--- "+"FAIL: "+a.Test+" (") {
				t.out.WriteString(a.Output)
			}
		case "pass", "fail", "skip":
			t.status = testStatus(a.Action)
		}
	}
}

// test finds the test of an action, or adds it.
func (g *goReport) test(a action) *goTest {
	key := a.Package + " " + a.Test
	t := g.tests[key]
	if t == nil {
		t = &goTest{}
		g.tests[key], g.order = t, append(g.order, key)
		if i := strings.LastIndexByte(a.Test, '/'); i > 0 {
			if up := g.tests[a.Package+" "+a.Test[:i]]; up != nil {
				up.children++
			}
		}
	}
	return t
}

// finish marks the tests that never ended, and those with a child that failed.
func (g *goReport) finish() {
	for i := len(g.order) - 1; i >= 0; i-- { // children come after their parents
		key := g.order[i]
		t := g.tests[key]
		t.status = cmp.Or(t.status, statusFail) // it began and never ended: the process died in it
		if j := strings.LastIndexByte(key, '/'); j > strings.IndexByte(key, ' ') && t.status == statusFail {
			if up := g.tests[key[:j]]; up != nil {
				up.bad = true
			}
		}
	}
}

func (g *goReport) result(p project) (r testResult) {
	r.exact = true
	failed := map[string]bool{}
	for _, key := range g.order {
		t := g.tests[key]
		pkg, name, _ := strings.Cut(key, " ")
		if t.status == statusFail {
			failed[pkg] = true
		}
		if t.children > 0 && (t.status != statusFail || t.bad) {
			continue
		}
		one := testCase{Name: name, Package: pkg, Status: t.status, Output: t.out.String()}
		if t.status == statusFail {
			one.File, one.Line = p.goFile(pkg, one.Output)
		}
		r.add(one)
	}
	for _, pkg := range g.pkgs {
		build, bad := g.failed[pkg]
		if !bad || failed[pkg] {
			continue
		}
		text := grow(g.output, pkg).String()
		if build != "" {
			text = grow(g.builds, build).String()
		}
		one := testCase{Package: pkg, Status: statusBroken, Output: text}
		if m := goBroken.FindStringSubmatch(text); m != nil {
			one.File = under(p.root, p.dir, m[1])
			one.Line, _ = strconv.Atoi(m[2])
		}
		r.add(one)
	}
	if len(g.pkgs) == 0 {
		r.Problem = strings.TrimSpace(clip(g.loose.String()))
	}
	return r
}

// goFile finds the place at which a test failed. Go prints the file's base name; the
// directory is the package's.
func (p project) goFile(pkg, out string) (string, int) {
	m := goPlace.FindStringSubmatch(out)
	if m == nil {
		return "", 0
	}
	name, num := m[1]+m[3], m[2]+m[4]
	n, _ := strconv.Atoi(num)
	if strings.Contains(name, "/") {
		return under(p.root, p.dir, name), n
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(pkg, p.module), "/")
	if p.module == "" || rel == pkg {
		return name, n
	}
	return path.Join(p.dir, rel, name), n
}

func grow(m map[string]*strings.Builder, key string) *strings.Builder {
	if m[key] == nil {
		m[key] = new(strings.Builder)
	}
	return m[key]
}
