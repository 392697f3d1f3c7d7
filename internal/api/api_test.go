package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

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
	if got, want := packages[1].names, []string{"const C", "func F", "type T", "var V"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	if got, want := packages[1].methods, []string{"method T.M"}; !slices.Equal(got, want) {
		t.Errorf("methods %q, want %q", got, want)
	}
}
