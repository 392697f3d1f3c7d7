package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/api.txt")

// TestSnapshot fails when a public package exports another set of names than
// before, so that nobody exports or renames something without noticing.
func TestSnapshot(t *testing.T) {
	packages, err := read("../../..")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/api.txt"
	got := snapshot(packages)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for _, line := range was {
		if !slices.Contains(is, line) && !strings.HasSuffix(line, "names outside test kits") {
			t.Errorf("%s is gone; if that is meant, go test ./internal/dev/apisnapshot -update", line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) && !strings.HasSuffix(line, "names outside test kits") {
			t.Errorf("%s is new; if that is meant, go test ./internal/dev/apisnapshot -update", line)
		}
	}
	if len(is) < 300 {
		t.Errorf("found %d names only: is this the repository?", len(is))
	}
}

func TestRead(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"pkg/a/a.go":          "package a\n\nconst C, c = 1, 2\n\nvar V int\n\ntype T[X any] struct{}\n\nfunc (*T[X]) M() {}\n\nfunc (T[X]) m() {}\n\ntype u int\n\nfunc (u) M() {}\n\nfunc F() {}\n",
		"pkg/a/a_windows.go":  "package a\n\nfunc Windows() {}\n",
		"pkg/a/a_test.go":     "package a\n\nfunc Test() {}\n",
		"pkg/a/internal/b.go": "package internal\n\nfunc B() {}\n",
		"pkg/a/testdata/c.go": "package c\n\nfunc C() {}\n",
		"cmd/x/main.go":       "package main\n\nfunc Main() {}\n",
		".git/d.go":           "package d\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	packages, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, p := range packages {
		dirs = append(dirs, p.dir)
	}
	if want := []string{"cmd/x", "pkg/a", "pkg/a/internal"}; !slices.Equal(dirs, want) {
		t.Fatalf("packages %q, want %q", dirs, want)
	}
	if a := packages[1]; a.lines != 20 || a.files != 2 {
		t.Errorf("pkg/a has %d lines in %d files, want 20 in 2", a.lines, a.files)
	}
	if got, want := string(snapshot(packages)), "4 names outside test kits\na: const C\na: func F\na: type T\na: var V\na: method T.M\n"; got != want {
		t.Errorf("the snapshot is\n%swant\n%s", got, want)
	}
}
