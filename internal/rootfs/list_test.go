package rootfs

import (
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
	defer func(was time.Duration) { listLimit = was }(listLimit)
	listLimit = 200 * time.Millisecond
	tree, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	for range 2 {
		names, _, err := tree.ListFiles(t.Context(), ".")
		if err != nil || !slices.Contains(names, strings.Repeat("a/", 60)+"f") {
			t.Fatalf("%d names, %v", len(names), err)
		}
		if _, err := tree.GitList(t.Context(), 1<<20, "ls-files"); err != errSlow {
			t.Errorf("git is asked again: %v", err)
		}
	}
}
