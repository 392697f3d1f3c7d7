package test

import (
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/lazyregexp"
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

var goPlace = lazyregexp.New(`(?m)^\s+(\S+\.go):(\d+):|^\t(\S+_test\.go):(\d+) \+0x`)

// readGo reads `go test -json`. Lines that are no JSON come from the go
// command itself and matter when it could not even start. A test with
// subtests counts only if it failed by itself: one fault is one failure.
func readGo(p project, out string) testResult {
	var r testResult
	var order []string // keys in the order they appeared
	tests := map[string]*goTest{}
	pkgOut, pkgFail := map[string]*strings.Builder{}, map[string]string{}
	builds := map[string]*strings.Builder{}
	var pkgs []string
	var loose strings.Builder
	for l := range strings.SplitSeq(out, "\n") {
		var a action
		if !strings.HasPrefix(l, "{") || json.Unmarshal([]byte(l), &a) != nil || a.Action == "" {
			if strings.TrimSpace(l) != "" {
				loose.WriteString(l + "\n")
			}
			continue
		}
		switch {
		case a.Action == "build-output":
			grow(builds, a.ImportPath).WriteString(a.Output)
		case a.Test == "" && a.Action == "output":
			grow(pkgOut, a.Package).WriteString(a.Output)
		case a.Test == "" && a.Action == "start":
			pkgs = append(pkgs, a.Package)
		case a.Test == "" && a.Action == "fail":
			pkgFail[a.Package] = a.FailedBuild
		case a.Test != "":
			key := a.Package + " " + a.Test
			t := tests[key]
			if t == nil {
				t = &goTest{}
				tests[key], order = t, append(order, key)
				if i := strings.LastIndexByte(a.Test, '/'); i > 0 {
					if up := tests[a.Package+" "+a.Test[:i]]; up != nil {
						up.children++
					}
				}
			}
			switch a.Action {
			case "output":
				if !strings.HasPrefix(a.Output, "=== ") {
					t.out.WriteString(a.Output)
				}
			case "pass", "fail", "skip":
				t.status = testStatus(a.Action)
			}
		}
	}
	for i := len(order) - 1; i >= 0; i-- { // children come after their parents
		t := tests[order[i]]
		if t.status == "" {
			t.status = statusFail // it began and never ended: the process died in it
		}
		if j := strings.LastIndexByte(order[i], '/'); j > strings.IndexByte(order[i], ' ') && t.status == statusFail {
			if up := tests[order[i][:j]]; up != nil {
				up.bad = true
			}
		}
	}
	failed := map[string]bool{}
	for _, key := range order {
		t := tests[key]
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
	for _, pkg := range pkgs {
		build, bad := pkgFail[pkg]
		if !bad || failed[pkg] {
			continue
		}
		text := grow(pkgOut, pkg).String()
		if build != "" {
			text = grow(builds, build).String()
		}
		r.add(testCase{Package: pkg, Status: statusBroken, Output: text})
	}
	if len(pkgs) == 0 {
		r.Problem = strings.TrimSpace(clip(loose.String(), mostOutput))
	}
	return r
}

// goFile finds where a test failed. Go prints the file's base name; the
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
