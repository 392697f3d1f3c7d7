package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dirtest"
)

// A merge that was killed before git, in it or behind it is named as such, and done or
// reported by the next one.
func TestMergeCutShort(t *testing.T) {
	repo := t.TempDir()
	dirtest.Git(t, repo, "init", "-q", "-b", "main")
	dirtest.Git(t, repo, "config", "user.name", "A")
	dirtest.Git(t, repo, "config", "user.email", "a@example.org")
	dirtest.Write(t, filepath.Join(repo, "a"), "a\n")
	dirtest.Git(t, repo, "add", "-A")
	dirtest.Git(t, repo, "commit", "-qm", "start")
	w, err := Add(t.Context(), repo, filepath.Join(t.TempDir(), "wt"), "adroit/J1/work", nil)
	dirtest.Must(t, err)
	dirtest.Write(t, filepath.Join(w.Top, "a"), "b\n")
	_, err = w.Commit(t.Context(), "Work", nil)
	dirtest.Must(t, err)
	from := strings.TrimSpace(dirtest.Git(t, repo, "rev-parse", "main"))
	to := strings.TrimSpace(dirtest.Git(t, repo, "rev-parse", w.Branch))
	record := filepath.Join(t.TempDir(), "merging.json")
	dirtest.Must(t, merging{from, to}.write(record))

	dirtest.Write(t, filepath.Join(repo, "a"), "b\n") // git was killed before its index
	var we *Error
	if _, err := w.Merge(t.Context(), "Work", record, nil); !errors.As(err, &we) || !strings.Contains(we.Reason, "killed in the middle") || !slices.Equal(we.Paths, []string{"a"}) {
		t.Fatalf("in the middle: %v", err)
	}
	dirtest.Git(t, repo, "stash", "--include-untracked", "--", "a")
	dirtest.Git(t, repo, "merge", "-q", "--ff-only", to) // adroit was killed when git was done
	m, err := w.Merge(t.Context(), "Work", record, nil)
	if err != nil || m.Commit != to || !slices.Equal(m.Paths, []string{"a"}) {
		t.Errorf("behind it: %+v, %v", m, err)
	}
	if _, err := os.Lstat(record); err == nil {
		t.Error("the note is still there")
	}
	if m, err := w.Merge(t.Context(), "Work", record, nil); err != nil || m.Commit != "" {
		t.Errorf("again: %+v, %v", m, err)
	}
}
