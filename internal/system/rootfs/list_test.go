package rootfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Patterns on which git works for hours stop no listing: all files are listed without it.
func TestPatternsOfAStranger(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, strings.Repeat("a/", 60))
	for _, err := range []error{
		os.MkdirAll(deep, 0o755), os.WriteFile(filepath.Join(deep, "f"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(strings.Repeat("**/a/", 8)+"q\n"), 0o644),
		exec.Command("git", "init", "-q", dir).Run(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	defer func(was time.Duration) { listLeast = was }(listLeast)
	listLeast = 200 * time.Millisecond
	tree, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	for range 2 {
		if limit := tree.listTime(); limit > time.Second {
			t.Errorf("git may take %s for a few files", limit)
		}
		names, _, err := tree.ListFiles(t.Context(), ".")
		if err != nil || !slices.Contains(names, strings.Repeat("a/", 60)+"f") {
			t.Fatalf("%d names, %v", len(names), err)
		}
		if _, err := tree.GitList(t.Context(), 1<<20, "ls-files"); err != errSlow {
			t.Errorf("git is asked again: %v", err)
		}
	}
}

// A file that is renamed by case only is listed, though the repository comes from a file system
// where that is none.
func TestCaseOfAStranger(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"init", "-q", dir}, {"-C", dir, "config", "core.ignoreCase", "true"}, {"-C", dir, "add", "."}} {
		if err := os.WriteFile(filepath.Join(dir, "README"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command("git", args...).Run(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(filepath.Join(dir, "README"), filepath.Join(dir, "readme")); err != nil {
		t.Fatal(err)
	}
	tree, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if names, _, err := tree.ListFiles(t.Context(), "."); err != nil || Exists(filepath.Join(dir, "README")) == slices.Contains(names, "readme") {
		t.Errorf("%q, %v", names, err)
	}
}

// A .gitmodules that names the tree itself, or a repository twice, has each file listed
// once, and to an end.
func TestModulesOfAStranger(t *testing.T) {
	dir := t.TempDir()
	const deep = maxNested + 3
	modules := []string{"./", ".", "sub/..", "sub/../", "//", "..", "../x", "/", "sub/.", "./sub", ""}
	var want []string
	at := "."
	for range deep {
		full := filepath.Join(dir, at)
		for _, err := range []error{
			os.MkdirAll(full, 0o755), os.WriteFile(filepath.Join(full, "f"), nil, 0o644), exec.Command("git", "init", "-q", full).Run(),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if at != "." {
			modules = append(modules, at)
		}
		want = append(want, filepath.Join(at, "f"), filepath.Join(at, ".gitmodules"))
		at = filepath.Join(at, "sub")
	}
	var text strings.Builder
	for i, name := range modules {
		fmt.Fprintf(&text, "[submodule \"%d\"]\n\tpath = %s\n", i, name)
	}
	for i := range deep {
		if err := os.WriteFile(filepath.Join(dir, strings.Repeat("sub/", i), ".gitmodules"), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	for _, from := range []string{".", "sub"} {
		want := slices.DeleteFunc(slices.Clone(want), func(n string) bool { return from != "." && !Within(from, n) })
		got, more, err := tree.ListFiles(t.Context(), from)
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || more || !slices.Equal(got, want) {
			t.Errorf("from %s: %d names %q, %v, %v", from, len(got), got, more, err)
		}
	}
}
