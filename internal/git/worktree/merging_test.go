package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/git"
)

// A merge that was killed in git or behind it is done by the next one; where somebody
// has changed a file since, and where git has left a lock, that is named and nothing changes.
func TestMergeCutShort(t *testing.T) {
	repo := t.TempDir()
	dirtest.Git(t, repo, "init", "-q", "-b", "main")
	dirtest.Git(t, repo, "config", "user.name", "A")
	dirtest.Git(t, repo, "config", "user.email", "a@example.org")
	for _, name := range []string{"a", "b", "c", "d", "file", "dir/x", "dir/y"} {
		dirtest.Write(t, filepath.Join(repo, name), name+"\n")
	}
	dirtest.Git(t, repo, "add", "-A")
	dirtest.Git(t, repo, "commit", "-qm", "start")
	w, err := Add(t.Context(), repo, filepath.Join(t.TempDir(), "wt"), "adroit/J1/work", nil)
	dirtest.Must(t, err)
	for name, text := range map[string]string{"a": "A\n", "b": "B\nB\nB\n", "new/n": "n\n", "new/m": "m\n"} {
		dirtest.Write(t, filepath.Join(w.Top, name), text)
	}
	for _, name := range []string{"c", "file", "dir"} {
		dirtest.Must(t, os.RemoveAll(filepath.Join(w.Top, name)))
	}
	dirtest.Write(t, filepath.Join(w.Top, "file/in"), "a directory\n")
	dirtest.Write(t, filepath.Join(w.Top, "dir"), "a file\n")
	dirtest.Write(t, filepath.Join(w.Top, ".gitignore"), "*.log\n")
	dirtest.Write(t, filepath.Join(w.Top, "n.log"), "ignored, and committed\n")
	dirtest.Git(t, w.Top, "add", "-f", "n.log")
	_, err = w.Commit(t.Context(), "Work", nil)
	dirtest.Must(t, err)
	from := strings.TrimSpace(dirtest.Git(t, repo, "rev-parse", "main"))
	to := strings.TrimSpace(dirtest.Git(t, repo, "rev-parse", w.Branch))
	record := filepath.Join(t.TempDir(), "merging.json")
	begun := func() {
		t.Helper()
		dirtest.Must(t, merging{from, to, w.Common}.write(record))
		if !CutShort(record) {
			t.Error("nobody is merging, and it is not cut short")
		}
	}
	merge := func() (*Merged, *Error) {
		t.Helper()
		m, err := w.Merge(t.Context(), "Work", record, nil, nil)
		var we *Error
		if errors.As(err, &we) {
			return nil, we
		}
		dirtest.Must(t, err)
		return m, nil
	}
	whole := func(when string, m *Merged, we *Error) {
		t.Helper()
		if we != nil || m.Commit != to || !slices.Equal(m.Paths, []string{".gitignore", "a", "b", "c", "dir", "dir/x", "dir/y", "file", "file/in", "n.log", "new/m", "new/n"}) {
			t.Fatalf("%s: %+v, %v", when, m, we)
		}
		if out := dirtest.Git(t, repo, "status", "--porcelain"); out != "" {
			t.Errorf("%s: left are\n%s", when, out)
		}
		if CutShort(record) {
			t.Errorf("%s: the record is still there", when)
		}
	}
	half := func() { // before its index
		dirtest.Write(t, filepath.Join(repo, "a"), "A\n")
		dirtest.Write(t, filepath.Join(repo, "b"), "B\nB") // half of it
		dirtest.Must(t, os.Remove(filepath.Join(repo, "c")))
		dirtest.Write(t, filepath.Join(repo, "new/n"), "n\n")
	}

	begun()
	half()
	m, we := merge()
	whole("in the middle", m, we)

	dirtest.Git(t, repo, "reset", "-q", "--hard", from)
	begun()
	half()
	lock := filepath.Join(repo, ".git/index.lock")
	dirtest.Write(t, lock, "")
	if _, we := merge(); we == nil || !slices.Equal(we.Paths, []string{lock}) || !strings.Contains(we.Remedy, "rm "+lock) {
		t.Errorf("with a lock: %+v", we)
	}
	dirtest.Must(t, os.Remove(lock))
	dirtest.Write(t, filepath.Join(repo, "b"), "mine\n")
	dirtest.Write(t, filepath.Join(repo, "new/n"), "mine\n")
	if _, we := merge(); we == nil || !slices.Equal(we.Paths, []string{"b", "new/n"}) || dirtest.Content(t, filepath.Join(repo, "a")) != "A\n" {
		t.Errorf("changed since: %+v", we)
	}
	dirtest.Git(t, repo, "stash", "--include-untracked", "--", "b", "new/n")
	m, we = merge()
	whole("put aside", m, we)

	for shape, do := range map[string]func(){
		"a directory in the place of a file, empty": func() {
			dirtest.Must(t, os.Remove(filepath.Join(repo, "file")))
			dirtest.Must(t, os.Mkdir(filepath.Join(repo, "file"), 0o755))
		},
		"a directory in the place of a file": func() {
			dirtest.Must(t, os.Remove(filepath.Join(repo, "file")))
			dirtest.Write(t, filepath.Join(repo, "file/in"), "a dir")
		},
		"half of a directory": func() { dirtest.Must(t, os.Remove(filepath.Join(repo, "dir/x"))) },
		"an empty directory": func() {
			dirtest.Must(t, os.Remove(filepath.Join(repo, "dir/x")))
			dirtest.Must(t, os.Remove(filepath.Join(repo, "dir/y")))
		},
		"a file in the place of a directory": func() {
			dirtest.Must(t, os.RemoveAll(filepath.Join(repo, "dir")))
			dirtest.Write(t, filepath.Join(repo, "dir"), "a f")
		},
		"an ignored file": func() {
			dirtest.Write(t, filepath.Join(repo, ".gitignore"), "*.log\n")
			dirtest.Write(t, filepath.Join(repo, "n.log"), "ign")
		},
	} {
		dirtest.Git(t, repo, "reset", "-q", "--hard", from)
		begun()
		do()
		m, we = merge()
		whole(shape, m, we)
	}

	dirtest.Git(t, repo, "reset", "-q", "--hard", from)
	begun()
	dirtest.Must(t, os.Remove(filepath.Join(repo, "file")))
	dirtest.Write(t, filepath.Join(repo, "file/in"), "a dir")
	dirtest.Write(t, filepath.Join(repo, "file/mine"), "mine\n")
	if _, we := merge(); we == nil || !slices.Equal(we.Paths, []string{"file/mine"}) || dirtest.Content(t, filepath.Join(repo, "file/mine")) != "mine\n" {
		t.Errorf("with a file of somebody in a directory of the merge: %+v", we)
	}
	dirtest.Must(t, os.RemoveAll(filepath.Join(repo, "file")))

	dirtest.Git(t, repo, "reset", "-q", "--hard", from)
	begun()
	dirtest.Git(t, repo, "read-tree", "-m", "-u", from, to) // before its branch
	m, we = merge()
	whole("behind the index", m, we)

	dirtest.Must(t, merging{from, to, w.Common}.takeBack(t.Context(), git.OnHost(repo), repo, "main")) // git was
	begun()                                                                                            // adroit was killed when git was done
	lock = filepath.Join(repo, ".git/HEAD.lock")
	dirtest.Write(t, lock, "") // and git as it took its locks away
	if _, we := merge(); we == nil || !slices.Equal(we.Paths, []string{lock}) || !CutShort(record) {
		t.Errorf("behind it, with a lock: %+v", we)
	}
	dirtest.Must(t, os.Remove(lock))
	m, we = merge()
	whole("behind it", m, we)
	if m, we := merge(); we != nil || m.Commit != "" {
		t.Errorf("again: %+v, %v", m, we)
	}
}

// A merge that git refuses is none that was killed.
func TestMergeRefused(t *testing.T) {
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
	dirtest.Git(t, repo, "update-index", "--assume-unchanged", "a") // status does not show it
	dirtest.Write(t, filepath.Join(repo, "a"), "mine\n")
	record := filepath.Join(t.TempDir(), "merging.json")
	var we *Error
	if _, err := w.Merge(t.Context(), "Work", record, nil, nil); !errors.As(err, &we) || we.Reason != "git would not merge" {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(record); err == nil || dirtest.Content(t, filepath.Join(repo, "a")) != "mine\n" {
		t.Error("it is recorded as begun, or changed the file")
	}
}
