package ledger

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// The references that git lists of a repository that keeps them in tables equal those read from
// files.
func TestTableRefs(t *testing.T) {
	dir := t.TempDir()
	dirtest.Git(t, dir, "init", "-q", "-b", "main")
	dirtest.Git(t, dir, "commit", "-qm", "x", "--allow-empty")
	for _, args := range [][]string{{"tag", "-a", "-m", "x", "v1"}, {"branch", "packed"}, {"pack-refs", "--all"}, {"branch", "a/b"}, {"symbolic-ref", "refs/heads/sym", "refs/heads/main"}, {"checkout", "-q", "--detach"}} {
		dirtest.Git(t, dir, args...)
		led, err := Open(t.TempDir(), nil)
		dirtest.Must(t, err)
		tree, err := rootfs.Open(dir)
		dirtest.Must(t, err)
		s, err := led.readRefs(t.Context(), tree, nil, true)
		dirtest.Must(t, err)
		s.Files = nil // files in both
		want, got := s.values(), map[string]string{IndexRef: s.Index}
		dirtest.Must(t, tableRefs(t.Context(), filepath.ToSlash(filepath.Join(tree.Dir, ".git")), got))
		if !maps.Equal(got, want) {
			t.Errorf("after %q git lists\n%v\nand the files have\n%v", args, got, want)
		}
		dirtest.Must(t, tree.Close())
		dirtest.Must(t, led.Close())
	}
}

// Attributes that are only taken away leave files on disk as git has them, so that their stamps count.
func TestConverts(t *testing.T) {
	for text, want := range map[string]bool{
		"* -text\n": false, "*.png binary\n": false, "* !text\n": false, "*.x -filter -ident\n": false, "# * text\n": false, "*.go diff=golang\n": false,
		"* text=auto\n": true, "*.bat text eol=crlf\n": true, "*.bin filter=lfs diff=lfs -text\n": true, "* -text\n*.c ident\n": true, "[attr]dos text eol=crlf\n": true,
		"*.txt working-tree-encoding=UTF-16\n": true, "* crlf=input\n": true,
	} {
		if got := converts.MatchString(text); got != want {
			t.Errorf("%q converts: %v", text, got)
		}
	}
}

// TestStaged: what is staged is read whatever the form of the index, and another time of a file changes nothing.
func TestStaged(t *testing.T) {
	for _, form := range []string{"init -q", "init -q --object-format=sha256", "update-index --split-index", "sparse-checkout set --cone --sparse-index d", "update-index --index-version 4", "update-index --untracked-cache"} {
		dir := t.TempDir()
		args := strings.Fields(form)
		if args[0] != "init" {
			dirtest.Git(t, dir, "init", "-q")
		} else {
			dirtest.Git(t, dir, args...)
		}
		dirtest.Write(t, filepath.Join(dir, "d/f"), "zero\n")
		dirtest.Write(t, filepath.Join(dir, "e/f"), "zero\n")
		dirtest.Git(t, dir, "add", ".")
		dirtest.Git(t, dir, "commit", "-qm", "x")
		dirtest.Git(t, dir, args...)
		staged := func(content string) string {
			dirtest.Write(t, filepath.Join(dir, "d/f"), content)
			dirtest.Git(t, dir, "add", "d/f")
			b, err := os.ReadFile(filepath.Join(dir, ".git/index"))
			dirtest.Must(t, err)
			return stagedIn(t.Context(), filepath.Join(dir, ".git"), "index", b)
		}
		one, two, again := staged("one\n"), staged("two\n"), staged("one\n")
		dirtest.Must(t, os.Chtimes(filepath.Join(dir, "d/f"), time.Time{}, time.Unix(1e9, 0)))
		dirtest.Git(t, dir, "update-index", "--refresh")
		if one == unread || one == two || one != again || staged("one\n") != one {
			t.Errorf("%s: %q, %q, %q", form, one, two, again)
		}
	}
}
