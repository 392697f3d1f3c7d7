package worktree

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

// A job that makes the index claim that a changed file equals the last commit does not hide the
// change from a merge.
func TestForgedIndex(t *testing.T) {
	t.Parallel()
	repo := filepath.Join(t.TempDir(), "repo")
	dirtest.Must(t, os.Mkdir(repo, 0o755))
	dirtest.Git(t, repo, "init", "-q", "-b", "main")
	dirtest.Git(t, repo, "config", "user.name", "A")
	dirtest.Git(t, repo, "config", "user.email", "a@example.org")
	dirtest.Write(t, filepath.Join(repo, "a"), "good\n")
	dirtest.Git(t, repo, "add", "-A")
	dirtest.Git(t, repo, "commit", "-qm", "start")
	w, err := Add(t.Context(), repo, filepath.Join(t.TempDir(), "wt"), "adroit/J1/work", nil)
	dirtest.Must(t, err)
	id := func(name string) []byte {
		b, err := hex.DecodeString(strings.TrimSpace(dirtest.Git(t, w.Top, "rev-parse", name)))
		dirtest.Must(t, err)
		return b
	}
	file, index := filepath.Join(w.Top, "a"), filepath.Join(repo, ".git/worktrees", filepath.Base(w.Top), "index")
	dirtest.Write(t, file, "evil\n")
	past := time.Now().Add(-time.Hour) // the index is to be younger than the file
	dirtest.Must(t, os.Chtimes(file, past, past))
	dirtest.Git(t, w.Top, "add", "a")
	data, err := os.ReadFile(index)
	dirtest.Must(t, err)
	data = bytes.ReplaceAll(data[:len(data)-sha1.Size], id(":a"), id("HEAD:a"))
	sum := sha1.Sum(data)
	dirtest.Must(t, os.WriteFile(index, append(data, sum[:]...), 0o600))
	if out := dirtest.Git(t, w.Top, "status", "--porcelain"); out != "" {
		t.Fatalf("git is not deceived: %s", out)
	}
	made, err := w.Commit(t.Context(), "Work", nil)
	dirtest.Must(t, err)
	if got := dirtest.Git(t, repo, "show", w.Branch+":a"); !made || got != "evil\n" {
		t.Errorf("committed: %t, with %q", made, got)
	}
}
