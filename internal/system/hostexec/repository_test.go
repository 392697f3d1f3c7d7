package hostexec

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRepository(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	make := func(name string, mode os.FileMode, put func(git string)) string {
		top := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Join(top, "a", "b"), 0o755); err != nil {
			t.Fatal(err)
		}
		put(filepath.Join(top, ".git"))
		if err := os.Chmod(top, mode); err != nil {
			t.Fatal(err)
		}
		return top
	}
	file := func(text string) func(string) {
		return func(git string) {
			if err := os.WriteFile(git, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := func(git string) {
		if err := os.Mkdir(git, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	repo := func(git string) { dir(git); file("ref: refs/heads/main\n")(filepath.Join(git, "HEAD")) }
	of := func(uid int) func(string) {
		return func(git string) {
			repo(git)
			if err := os.Chown(git, uid, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	type row struct {
		name  string
		mode  os.FileMode
		put   func(string)
		above bool // whether it counts for the directories below
	}
	rows := []row{
		{"repository", 0o755, repo, true},
		{"linked", 0o755, file("gitdir: ../x\n"), true},
		{"empty", 0o755, dir, false}, // what a sandbox leaves that guards the name
		{"emptyfile", 0o755, file(""), false},
		{"dangling", 0o755, func(git string) {
			if err := os.Symlink("nowhere", git); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"everybody", 0o777, repo, true}, // as a file system without modes shows each directory
		{"shared", 0o777 | os.ModeSticky, repo, false},
	}
	if os.Geteuid() == 0 {
		rows = append(rows, row{"stranger", 0o755, of(12345), false})
	}
	for _, r := range rows {
		top := make(r.name, r.mode, r.put)
		if got, ok := Repository(top); !ok || got != top {
			t.Errorf("%s: its own top is %q, %v", r.name, got, ok)
		}
		if got, ok := Repository(filepath.Join(top, "a", "b")); ok != r.above || ok && got != top {
			t.Errorf("%s: below it the top is %q, %v", r.name, got, ok)
		}
	}
	// Whose workspace it is may have a repository above it.
	if os.Geteuid() == 0 {
		top := make("mounted", 0o755, of(12345))
		below := filepath.Join(top, "a", "b")
		if err := os.Chown(below, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if got, ok := Repository(below); !ok || got != top {
			t.Errorf("the owner's own: %q, %v", got, ok)
		}
	}
}

func TestBranch(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{"a/.git/HEAD": "ref: refs/heads/fix/it\n", "a/b/c": "", "tree/.git": "gitdir: ../a/.git/worktrees/tree\n", "a/.git/worktrees/tree/HEAD": "ref: refs/heads/other\n",
		"detached/.git/HEAD": "5d0536ad\n", "broken/.git": "gitdir: \n", "empty/x": ""} {
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{"a": "fix/it", "a/b": "fix/it", "tree": "other", "detached": "", "broken": "", "empty": "", "absent": ""} {
		if got := Branch(filepath.Join(top, dir)); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}
