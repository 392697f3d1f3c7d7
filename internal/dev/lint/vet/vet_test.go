package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/suite/vet"
)

// fixtures have, for each rule of this project, files in which it finds a fault.
var fixtures = map[string]struct {
	files map[string]string
	want  string
}{
	"flowvet": {map[string]string{
		"pkg/flow/flow.go": "package flow\n\ntype Run struct{}\n",
		"internal/x/x.go":  "package x\n\nimport (\n\t\"time\"\n\n\t\"" + project + "/pkg/flow\"\n)\n\nfunc w(r *flow.Run) time.Time { return time.Now() }\n",
	}, "x.go:9:"},
	"hints": {map[string]string{
		"go.mod":          "module " + project + "\n\ngo 1.26\n\nrequire github.com/spf13/cobra v1.0.0\n\nreplace github.com/spf13/cobra => ./cobra\n",
		"cobra/go.mod":    "module github.com/spf13/cobra\n",
		"cobra/c.go":      "package cobra\n\ntype Command struct{ Use string }\n",
		"internal/x/x.go": "package x\n\nimport \"github.com/spf13/cobra\"\n\nvar c = &cobra.Command{Use: \"jobs\"}\n\nvar s = \"see adroit jobs\"\n",
	}, "a command of adroit in a string"},
	"hostprograms": {map[string]string{"internal/x/x.go": "package x\n\nimport \"os/exec\"\n\nvar _ = exec.Command(\"git\")\n"}, "x.go:5:"},
	"nilpointers":  {map[string]string{"internal/x/x.go": "package x\n\nfunc f() (*int, error) { return nil, nil }\n\nfunc g() (any, error) { return f() }\n"}, "x.go:5:"},
	"onename": {map[string]string{
		"go.mod":             "module " + project + "\n\ngo 1.26\n\nrequire golang.org/x/sys v1.0.0\n\nreplace golang.org/x/sys => ./sys\n",
		"sys/go.mod":         "module golang.org/x/sys\n\ngo 1.24\n",
		"sys/unix/u.go":      "package unix\n\nfunc Chmod(string, uint32) error { return nil }\n",
		"internal/work/x.go": "package workspace\n\nimport \"golang.org/x/sys/unix\"\n\nvar _ = unix.Chmod(\"a\", 0)\n",
	}, "Chmod takes a path"},
	"prose": {map[string]string{
		"pkg/tools/t.go":  "package tools\n\ntype Result struct{ Text string }\n",
		"internal/x/x.go": "package x\n\nimport \"" + project + "/pkg/tools\"\n\nfunc f(r tools.Result) bool { return r.Text == \"x\" }\n",
	}, "reads pkg/tools.Result.Text"},
	"toolruns": {map[string]string{
		"pkg/tools/t.go":  "package tools\n\ntype Tool struct{}\n\nfunc (Tool) Run() {}\n",
		"internal/x/x.go": "package x\n\nimport \"" + project + "/pkg/tools\"\n\nfunc f(t tools.Tool) { t.Run() }\n",
	}, "a tool is run past rules"},
	"writes": {map[string]string{"internal/x/x.go": "package x\n\nimport \"os\"\n\nvar _ = os.WriteFile(\"a\", nil, 0)\n"}, "x.go:5:"},
}

// TestToolRuns: ways around the chain are found in every package, also in those that have it, and
// the functions that may run tools are not.
func TestToolRuns(t *testing.T) {
	const tool = "package tools\n\ntype Tool struct{ Name string; Call func() }\n\nfunc (t Tool) Run() { t.Call() }\n\nfunc New(f func()) (t Tool) { t.Call = f; return t }\n"
	imports := func(name, text string) string {
		return "package " + name + "\n\nimport \"" + project + "/pkg/tools\"\n\n" + text
	}
	for name, test := range map[string]struct {
		file, text string
		fine       bool
	}{
		"what may":                      {file: "internal/host/permission.go", text: imports("host", "type Host struct{}\n\nfunc (*Host) permitted(t tools.Tool) { t.Run() }\n"), fine: true},
		"a function named like it":      {file: "internal/host/permission.go", text: imports("host", "func permitted(t tools.Tool) { t.Run() }\n")},
		"its name on another type":      {file: "internal/host/x.go", text: imports("host", "type Free struct{}\n\nfunc (*Free) permitted(t tools.Tool) { t.Run() }\n")},
		"Run of a set":                  {file: "pkg/tools/set.go", text: "package tools\n\ntype Set []Tool\n\nfunc (s Set) Run() { s[0].Call() }\n"},
		"Run of what embeds a tool":     {file: "pkg/tools/set.go", text: "package tools\n\ntype Loud struct{ Tool }\n\nfunc (l *Loud) Run() { l.Tool.Run() }\n"},
		"an exported function":          {file: "pkg/tools/now.go", text: "package tools\n\nfunc Now(t Tool) { t.Call() }\n"},
		"a method":                      {file: "pkg/tools/set.go", text: "package tools\n\ntype Set struct{ all []Tool }\n\nfunc (s *Set) Do() { s.all[0].Run() }\n"},
		"a function value in a struct":  {file: "pkg/tools/op.go", text: "package tools\n\ntype Op struct{ Do func() }\n\nfunc Of(t Tool) Op { return Op{Do: t.Run} }\n"},
		"a function of the host":        {file: "internal/host/x.go", text: imports("host", "func Straight(t tools.Tool) { t.Run() }\n")},
		"a variable":                    {file: "pkg/tools/var.go", text: "package tools\n\nvar Do = Tool.Run\n"},
		"a type that embeds a tool":     {file: "internal/x/x.go", text: imports("x", "type mine struct{ tools.Tool }\n\nfunc F(m mine) { m.Call() }\n")},
		"a type converted from one":     {file: "internal/x/x.go", text: imports("x", "type bare tools.Tool\n\nfunc F(t tools.Tool) { bare(t).Call() }\n")},
		"the servers past their caller": {file: "internal/turn/t.go", text: "package turn\n\ntype Servers interface{ Call() }\n\nfunc F(s Servers) { s.Call() }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			c, out := module(t, map[string]string{"go.mod": "module " + project + "\n\ngo 1.26\n", "pkg/tools/tool.go": tool, test.file: test.text})
			all := suite
			defer func() { suite = all }()
			suite = []*analysis.Analyzer{toolRuns}
			_, err := c.check(here)
			if found := strings.Contains(out.String(), "a tool is run past rules"); err != nil || found == test.fine {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

// Each rule of this project fires; a new rule needs a fixture.
func TestEachRuleFires(t *testing.T) {
	ours := map[string]bool{}
	for _, rule := range suite[len(vet.Suite):] {
		ours[rule.Name] = true
		f, ok := fixtures[rule.Name]
		if !ok {
			t.Errorf("the rule %s has no fixture: add one", rule.Name)
			continue
		}
		t.Run(rule.Name, func(t *testing.T) {
			files := map[string]string{"go.mod": "module " + project + "\n\ngo 1.26\n"}
			maps.Copy(files, f.files)
			c, out := module(t, files)
			all := suite
			defer func() { suite = all }()
			suite = []*analysis.Analyzer{rule}
			if ok, err := c.check(here); ok || err != nil || !strings.Contains(out.String(), f.want) {
				t.Errorf("%v, %v, without %q:\n%s", ok, err, f.want, out)
			}
		})
	}
	for name := range fixtures {
		if !ours[name] {
			t.Errorf("%s is no rule", name)
		}
	}
}

// TestFound has each kind of fault in files that this platform does not compile.
func TestFound(t *testing.T) {
	for name, test := range map[string]struct{ file, text, want string }{
		"type":       {"a_plan9.go", "package m\n\nfunc f() int { return \"\" }\n", "a_plan9.go:3:23: cannot use"},
		"import":     {"a_plan9.go", "package m\n\nimport \"errors\"\n", "a_plan9.go:3:8: \"errors\" imported and not used"},
		"unknown":    {"a_plan9.go", "package m\n\nimport _ \"m/gone\"\n", "m/gone"},
		"test":       {"a_plan9_test.go", "package m_test\n\nvar x int = nil\n", "a_plan9_test.go:3:13: cannot use nil"},
		"syntax":     {"a_plan9.go", "package m\n\nfunc f( {}\n", "a_plan9.go:3:9: "},
		"vet":        {"a_plan9.go", "package m\n\nimport \"fmt\"\n\nfunc f() { fmt.Printf(\"%d\\n\", \"x\") }\n", "a_plan9.go:5:24: fmt.Printf format %d has arg \"x\""},
		"vet a test": {"a_plan9_test.go", "package m\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Fatalf(\"%d\", \"x\") }\n", "a_plan9_test.go:5:38: (*testing.common).Fatalf format %d"},
		"assembly":   {"a_plan9.s", "TEXT ·F(SB),$0\n", "a_plan9.s: assembly"},
		"linkname":   {"a_plan9.go", "package m\n\nimport _ \"unsafe\"\n\n//go:linkname f runtime.f\nfunc f() {}\n", "a_plan9.go:5:1: go:linkname"},
	} {
		t.Run(name, func(t *testing.T) {
			c, out := module(t, map[string]string{test.file: test.text})
			if ok, err := c.check(here); !ok || err != nil || out.Len() > 0 {
				t.Errorf("on %s: %v, %v\n%s", here, ok, err, out)
			}
			if ok, err := c.check("plan9/amd64"); ok || err != nil || !strings.Contains(out.String(), test.want) {
				t.Errorf("on plan9: %v, %v, without %q:\n%s", ok, err, test.want, out)
			}
		})
	}
}

// The types of other modules' tables are unchanged without their elements.
func TestTables(t *testing.T) {
	c, out := module(t, map[string]string{
		"go.mod":       "module m\n\ngo 1.24\n\nrequire other.org/o v1.0.0\n\nreplace other.org/o => ./other\n",
		"other/go.mod": "module other.org/o\n\ngo 1.24\n",
		"other/o.go":   "package o\n\ntype S struct{ A int }\n\nvar (\n\tCounted = [...]S{{1}, {2}}\n\tFixed = [3]int{1}\n\tList = []S{{1}}\n\tRef = &S{1}\n)\n",
		"m.go":         "package m\n\nimport \"other.org/o\"\n\nvar (\n\t_ [2]o.S = o.Counted\n\t_ [3]int = o.Fixed\n\t_ []o.S = o.List\n\t_ *o.S = o.Ref\n)\n",
	})
	if ok, err := c.check(here); !ok || err != nil || out.Len() > 0 {
		t.Errorf("%v, %v\n%s", ok, err, out)
	}
}

// A module without faults is compiled once for another platform, and again when a
// package of another module is among its packages.
func TestLink(t *testing.T) {
	c, out := module(t, nil)
	for range 2 {
		if ok, err := c.check("plan9/amd64"); !ok || err != nil {
			t.Fatalf("%v, %v\n%s", ok, err, out)
		}
	}
	if n := c.linked(t); n != 1 {
		t.Errorf("%d notes of what was linked", n)
	}
	put(t, c.dir, map[string]string{
		"go.mod":         "module m\n\ngo 1.24\n\nrequire other.org/o v1.0.0\n\nreplace other.org/o => ./other\n",
		"other/go.mod":   "module other.org/o\n\ngo 1.24\n",
		"other/o.go":     "package o\n\nfunc F() int { return \"\" }\n",
		"uses_plan9.go":  "package m\n\nimport _ \"other.org/o\"\n",
		"uses_others.go": "//go:build !plan9\n\npackage m\n",
	})
	if ok, err := c.check("plan9/amd64"); err == nil || !strings.Contains(out.String(), "cannot use \"\"") {
		t.Errorf("a module that does not compile: %v, %v\n%s", ok, err, out)
	}
	if n := c.linked(t); n != 1 {
		t.Errorf("%d notes of what was linked", n)
	}
}

func (c *checks) linked(t *testing.T) int {
	t.Helper()
	notes, err := filepath.Glob(filepath.Join(c.cache, "linked-plan9-amd64-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(notes)
}

// module makes a module of one package from files.
func module(t *testing.T, files map[string]string) (*checks, *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, map[string]string{"go.mod": "module m\n\ngo 1.24\n", "m.go": "package m\n\nfunc F() {}\n"})
	put(t, dir, files)
	t.Setenv("ADROIT_CACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-buildvcs=false")
	var out bytes.Buffer
	c, err := open(dir, &out)
	if err != nil {
		t.Fatal(err)
	}
	return c, &out
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A path, and a name that is followed, is refused where commands can write; nothing
// is elsewhere, nor in tests.
func TestOneName(t *testing.T) {
	const sys = "package unix\n\nconst (\n\tO_NOFOLLOW = 1\n\tAT_SYMLINK_NOFOLLOW = 2\n\tAT_EMPTY_PATH = 4\n\tAT_SYMLINK_FOLLOW = 8\n\tRESOLVE_NO_SYMLINKS = 16\n)\n\n" +
		"type OpenHow struct{ Resolve int }\n\nfunc Fchmodat(int, string, uint32, int) error { return nil }\nfunc Linkat(int, string, int, string, int) error { return nil }\n" +
		"func Openat(int, string, int, uint32) error { return nil }\nfunc Openat2(int, string, *OpenHow) error { return nil }\nfunc Chmod(string, uint32) error { return nil }\n" +
		"func Open(string, int, uint32) error { return nil }\nfunc Fchmod(int, uint32) error { return nil }\nfunc Unlinkat(int, string, int) error { return nil }\n"
	const workspace, rootfs, sandbox = "internal/work/x.go", "internal/system/rootfs/x.go", "internal/work/sandbox/x.go"
	tests := []struct{ file, call, want string }{
		{workspace, "unix.Linkat(1, n, 2, n, 0)", "Linkat takes a path"},
		{workspace, "unix.Unlinkat(1, n, 0)", "Unlinkat takes a path"},
		{workspace, "unix.Chmod(n, 0)", "Chmod takes a path"},
		{workspace, "unix.Open(n, 0, 0)", "Open without O_NOFOLLOW"},
		{workspace, "unix.Open(n, unix.O_NOFOLLOW, 0)", ""},
		{workspace, "unix.Fchmod(1, 0)", ""},
		{"internal/work/x_test.go", "unix.Chmod(n, 0)", ""},
		{"internal/other/x.go", "unix.Chmod(n, 0)", ""},
		{rootfs, "unix.Fchmodat(1, n, 0, 0)", "Fchmodat with these flags"},
		{rootfs, "unix.Fchmodat(1, n, 0, unix.AT_SYMLINK_NOFOLLOW)", ""},
		{rootfs, `unix.Fchmodat(1, ".", 0, 0)`, ""},
		{rootfs, `unix.Fchmodat(1, "a/b", 0, unix.AT_SYMLINK_NOFOLLOW)`, "a path of several parts"},
		{rootfs, "unix.Linkat(1, n, 2, n, 0)", "Linkat with these flags"},
		{sandbox, "unix.Openat(1, n, 0, 0)", "Openat without O_NOFOLLOW"},
		{sandbox, "unix.Openat(1, n, f|unix.O_NOFOLLOW, 0)", ""},
		{sandbox, "unix.Openat2(1, n, &unix.OpenHow{})", "OpenHow without"},
		{sandbox, "unix.Openat2(1, n, &unix.OpenHow{Resolve: unix.RESOLVE_NO_SYMLINKS})", ""},
	}
	files := map[string]string{
		"go.mod":        "module m\n\ngo 1.24\n\nrequire golang.org/x/sys v1.0.0\n\nreplace golang.org/x/sys => ./sys\n",
		"sys/go.mod":    "module golang.org/x/sys\n\ngo 1.24\n",
		"sys/unix/u.go": sys,
	}
	at := func(i int) string {
		return path.Join(path.Dir(tests[i].file), fmt.Sprintf("p%02d", i), path.Base(tests[i].file))
	}
	for i, test := range tests {
		files[at(i)] = "package x\n\nimport \"golang.org/x/sys/unix\"\n\nfunc do(n string, f int) error { return " + test.call + " }\n\nvar _ = do\n"
	}
	c, out := module(t, files)
	if ok, err := c.check(here); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	for i, test := range tests {
		found := ""
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, at(i)+":") {
				found += line
			}
		}
		if (found == "") != (test.want == "") || !strings.Contains(found, test.want) {
			t.Errorf("%s in %s: %q, want %q", test.call, test.file, found, test.want)
		}
	}
}

// TestWrites has a file that a package of the product writes itself, and one that
// tests do, and with the few packages of this module the rooms that are empty.
func TestWrites(t *testing.T) {
	used.Clear()
	seen.Clear()
	write := "import \"os\"\n\nfunc f() { _ = os.WriteFile(\"a\", nil, 0) }\n"
	c, out := module(t, map[string]string{
		"go.mod":                       "module " + project + "\n\ngo 1.26\n",
		"internal/a/a.go":              "package a\n\n" + write,
		"internal/a/a_test.go":         "package a\n\nimport \"os\"\n\nfunc g(r *os.Root) { _ = r.Rename(\"a\", \"b\") }\n",
		"internal/b/b.go":              "package b\n\nimport \"os\"\n\nfunc f(r *os.Root) { _ = r.Rename(\"a\", \"b\") }\n\nfunc g() { _, _ = os.OpenFile(\"a\", os.O_RDONLY, 0) }\n\nfunc h() { _, _ = os.OpenFile(\"a\", os.O_RDWR, 0) }\n",
		"internal/atest/a.go":          "package atest\n\n" + write,
		"internal/system/lock/lock.go": "package filelock\n\n" + write,
	})
	if ok, err := c.check("linux/amd64"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	got := strings.ReplaceAll(out.String(), c.dir+"/", "")
	for _, want := range []string{"internal/a/a.go:5:16: os.WriteFile: ", "internal/b/b.go:5:26: os.Root.Rename: ", "internal/b/b.go:9:19: os.OpenFile: ", "no package is in cmd/", "internal/system/rootfs writes no file itself"} {
		if !strings.Contains(got, want) {
			t.Errorf("not found: %s", want)
		}
	}
	for _, not := range []string{"_test.go", "atest", "lock.go", "b.go:7", "filelock writes", "no package is in internal/:"} {
		if strings.Contains(got, not) {
			t.Errorf("found: %s", not)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// TestHostPrograms has programs of the product that are started by name, by path, in a
// test, and by the package that may.
func TestHostPrograms(t *testing.T) {
	c, out := module(t, map[string]string{
		"go.mod":                        "module " + project + "\n\ngo 1.26\n",
		"internal/a/a.go":               "package a\n\nimport \"os/exec\"\n\nvar name = \"/bin/ls\"\n\nvar _ = exec.Command(\"git\")\nvar _ = exec.Command(name)\nvar _ = exec.Command(\"/bin/sh\", \"-c\", name)\nvar _ = exec.CommandContext(nil, \"git\")\nvar _, _ = exec.LookPath(\"/x\")\nvar _ = &exec.Cmd{}\n",
		"internal/a/a_test.go":          "package a\n\nimport \"os/exec\"\n\nvar _ = exec.Command(\"git\")\n",
		"internal/system/hostexec/h.go": "package hostexec\n\nimport \"os/exec\"\n\nvar _ = exec.Command(\"git\")\n",
		"internal/dev/dirtest/dir.go":   "package dirtest\n\nimport \"os/exec\"\n\nvar _ = exec.Command(\"git\")\n",
		"pkg/adroit/adroittest/a.go":    "package adroittest\n\nimport \"os/exec\"\n\nvar _ = exec.Command(\"git\")\n",
	})
	if ok, err := c.check("linux/amd64"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	got := strings.ReplaceAll(out.String(), c.dir+"/", "")
	for _, line := range []string{"7:9", "8:9", "10:9", "11:12", "12:10"} {
		if !strings.Contains(got, "internal/a/a.go:"+line+": ") {
			t.Errorf("not found: line %s", line)
		}
	}
	for _, not := range []string{"a.go:9", "a_test.go:", "hostexec/h.go:", "dir.go:", "adroittest/a.go:"} {
		if strings.Contains(got, not) {
			t.Errorf("found: %s", not)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
}

// TestHintTemplates has commands in hints, in help pages, in sentences and in all other
// strings, and templates that no test could run.
func TestHintTemplates(t *testing.T) {
	commands.Clear()
	commandLike.Clear()
	templates.Clear()
	lines := []struct{ text, want string }{
		{"var c = &cobra.Command{Use: \"jobs [ID]\", Long: \"adroit jobs lists\", Example: \"  adroit jobs --all\"}", ""},
		{"func a() { c.Example = \"adroit jobs\" }", ""},
		{"func b(f *pflag.FlagSet) { f.String(\"x\", \"\", \"as adroit jobs has it\") }", ""},
		{"func d() string { return hint.Command(\"jobs\") + \" lists them\" }", ""},
		{"var e = hint.Name(\"jobs %s\", name)", ""},
		{"func f() string { return \"adroit jobsworth, adroit finishes it; of adroit\" }", ""},
		{"type g struct { A string `json:\"adroit jobs\"` }", ""},
		{"func h() string { return \"see adroit jobs\" }", "a command of adroit in a string"},
		{"func i() string { return \"adroit \" + name }", "a command of adroit in a string"},
		{"func j() string { return \"adroit\" + \" jobs\" }", "a command of adroit in a string"},
		{"var k = map[string]string{\"a\": `(adroit %s)`}", "a command of adroit in a string"},
		{"var l = \"adroit --all\"", "a command of adroit in a string"},
		{"func p() string { return fmt.Sprintf(\"%s jobs rm x\", \"adroit\") }", "a command of adroit in a string"},
		{"func q() string { return strings.Join([]string{\"adroit\", \"jobs\", name}, \" \") }", "a command of adroit in a string"},
		{"func r() string { return fmt.Sprintf(\"%s %s has jobsworth\", \"adroit\", name) }", ""},
		{"const s = \"adroit\"\n\nvar t = s + \" jobs\"", "a command of adroit in a string"},
		{"var u = \"adroit  jobs\"", "a command of adroit in a string"},
		{"func noun(use string) *cobra.Command { return &cobra.Command{Use: use} }\n\nvar v = noun(\"models\")", ""},
		{"var w = \"see adroit models\"", "a command of adroit in a string"},
		{"func m() string { return hint.Command(name) }", "is one literal"},
		{"var n = hint.Command(\"jobs\")", "before main"},
		{"func o() string { return hint.Name(\"jobs %s\") }", "for 0 values"},
	}
	files := map[string]string{
		"go.mod":                            "module " + project + "\n\ngo 1.26\n\nrequire (\n\tgithub.com/spf13/cobra v1.0.0\n\tgithub.com/spf13/pflag v1.0.0\n)\n\nreplace (\n\tgithub.com/spf13/cobra => ./cobra\n\tgithub.com/spf13/pflag => ./pflag\n)\n",
		"cobra/go.mod":                      "module github.com/spf13/cobra\n",
		"cobra/c.go":                        "package cobra\n\ntype Command struct{ Use, Long, Example string }\n",
		"pflag/go.mod":                      "module github.com/spf13/pflag\n",
		"pflag/f.go":                        "package pflag\n\ntype FlagSet struct{}\n\nfunc (*FlagSet) String(a, b, c string) {}\n",
		"internal/text/hint/hint.go":        "package hint\n\nfunc Command(t string, v ...string) string { return \"adroit jobs\" }\n\nfunc Name(t string, v ...string) string { return t }\n",
		"internal/x/x_test.go":              "package x\n\nvar _ = \"adroit jobs\"\n",
		"internal/dev/reference/testing.go": "package docs\n\nvar _ = \"adroit jobs\"\n",
	}
	for i, l := range lines { // each with the imports that it needs
		head := "package x\n\n"
		for name, at := range map[string]string{"fmt.": "fmt", "strings.": "strings", "cobra.": "github.com/spf13/cobra", "pflag.": "github.com/spf13/pflag", "hint.": project + "/internal/text/hint"} {
			if strings.Contains(l.text, name) {
				head += "import \"" + at + "\"\n\n"
			}
		}
		files[fmt.Sprintf("internal/x/x%02d.go", i)] = head + l.text + "\n"
	}
	files["internal/x/name.go"] = "package x\n\nvar name = \"jobs\"\n"
	c, out := module(t, files)
	if ok, err := c.check("linux/amd64"); ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	for i, l := range lines {
		found := ""
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, fmt.Sprintf("x%02d.go:", i)) {
				found += line
			}
		}
		if (found == "") != (l.want == "") || !strings.Contains(found, l.want) {
			t.Errorf("%s: %q, want %q", l.text, found, l.want)
		}
	}
	for _, not := range []string{"x_test.go", "hint.go", "docs"} {
		if strings.Contains(out.String(), not+":") {
			t.Errorf("found: %s", not)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
	// Where nothing is found, nothing was looked at.
	commands.Clear()
	templates.Clear()
	if found := strings.Join(otherHints(), "\n"); !strings.Contains(found, "no command is found") || !strings.Contains(found, "no template") {
		t.Errorf("without commands: %s", found)
	}
}

func TestPlatform(t *testing.T) {
	c, _ := module(t, nil)
	if _, err := c.check(runtime.GOOS); err == nil {
		t.Error("a system alone is taken as a platform")
	}
}

// Words for models and people are shown, and not read.
func TestProse(t *testing.T) {
	const types = "package tools\n\ntype Result struct{ Text, Summary string; Failed bool }\n"
	const head = "package x\n\nimport (\n\t\"fmt\"\n\t\"regexp\"\n\t\"strings\"\n\n\t\"github.com/adroit-run/adroit/pkg/tools\"\n)\n\ntype reply struct{ tools.Result }\n\nvar (\n\tre = regexp.MustCompile(`^exit code (\\d+)`)\n\tn int\n\tr reply\n\tp *tools.Result\n\ts string\n)\n\nconst sentence = \"the rest is left out here)\"\n\nfunc first(s string) string { return s }\n\nfunc f() {\n\t_, _, _, _, _ = fmt.Sprint, strings.ToLower, re, n, p\n\t"
	for _, test := range []struct{ call, want string }{
		{`_ = strings.HasPrefix(r.Text, "not run: ")`, "reads pkg/tools.Result.Text"},
		{`_ = strings.Contains(first(p.Summary), "is not installed")`, "reads pkg/tools.Result.Summary"},
		{`_, _ = fmt.Sscanf(r.Text, "exit code %d", &n)`, "reads pkg/tools.Result.Text"},
		{`_ = re.MatchString(strings.TrimSpace(r.Summary))`, "reads pkg/tools.Result.Summary"},
		{`_ = r.Summary == "killed"`, "reads pkg/tools.Result.Summary"},
		{`switch r.Text { case "x": }`, "reads pkg/tools.Result.Text"},
		{`_ = strings.HasSuffix(s, "the rest is left out here)")`, "looks for a sentence"},
		{`_ = strings.HasSuffix(s, sentence)`, ""},
		{`s, _, _ = strings.Cut(r.Text, "\n")`, ""},
		{`_ = r.Summary == "" && strings.HasPrefix(s, "x")`, ""},
		{`s = re.ReplaceAllString(r.Text, "") + strings.TrimRight(r.Text, "\n")`, ""},
	} {
		t.Run(test.call, func(t *testing.T) {
			c, out := module(t, map[string]string{"go.mod": "module github.com/adroit-run/adroit\n\ngo 1.24\n", "m.go": "package m\n", "pkg/tools/tools.go": types, "internal/x/x.go": head + test.call + "\n}\n"})
			_, err := c.check(here)
			if got := strings.Contains(out.String(), "a program "); err != nil || got != (test.want != "") || !strings.Contains(out.String(), test.want) {
				t.Errorf("%v, without %q:\n%s", err, test.want, out)
			}
		})
	}
}
