// Package dirtest helps tests of the workspace with directories: it writes and reads files, lists
// a tree and runs git.
package dirtest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Write makes a file and the directories above it.
func Write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Content returns the content of a file.
func Content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Tree describes every name below dir, links not followed, but for the ledger.
func Tree(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if rel == "ledger" {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s := fmt.Sprintf("%s %v", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			s += fmt.Sprintf(" %s", rootfs.Digest(b))
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			s += " -> " + target
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Must ends the test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Lines returns the lines of each file.
func Lines(t testing.TB, dir string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	Must(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		out[rel] = strings.SplitAfter(Content(t, p), "\n")
		return nil
	}))
	return out
}

// Twenty is a text of twenty lines.
const Twenty = "l1\nl2\nl3\nl4\nl5\nl6\nl7\nl8\nl9\nl10\nl11\nl12\nl13\nl14\nl15\nl16\nl17\nl18\nl19\nl20\n"

// Git runs git as an author of its own and returns its output. After a commit, git starts no
// background maintenance.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", slices.Concat([]string{"-c", "maintenance.auto=false"}, args)...)
	cmd.Dir = dir
	cmd.Env = append(rootfs.Environ(os.Environ(), nil), "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.org",
		"GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Config sets keys of a git configuration as git config --file does, without a git for each.
func Config(t testing.TB, file string, kv ...string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	Must(t, err)
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	for i := 0; i < len(kv); i += 2 {
		first, last := strings.Index(kv[i], "."), strings.LastIndex(kv[i], ".")
		section := kv[i][:first]
		if first < last {
			section += fmt.Sprintf(` "%s"`, quote(kv[i][first+1:last]))
		}
		_, err := fmt.Fprintf(f, "[%s]\n\t%s = \"%s\"\n", section, kv[i][last+1:], quote(kv[i+1]))
		Must(t, err)
	}
	Must(t, f.Close())
}

// Diff lists the lines that only one of two listings has.
func Diff(a, b []string) string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, "- "+s)
		}
	}
	for _, s := range b {
		if !slices.Contains(a, s) {
			out = append(out, "+ "+s)
		}
	}
	return strings.Join(out, "\n")
}

// WorkTree lists the files of a tree without its git directory.
func WorkTree(t testing.TB, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(Tree(t, dir), func(line string) bool {
		return strings.Contains(line, ".git ") || strings.Contains(line, ".git/") || strings.HasPrefix(line, ". ")
	})
}

// Golden fails unless got is the content of a golden file; update writes the file.
func Golden(t testing.TB, update bool, file string, got []byte) {
	t.Helper()
	if update {
		Must(t, os.WriteFile(file, got, 0o644))
	}
	if want := Content(t, file); want != string(got) {
		t.Errorf("%s differs; -update writes it. Got\n%s\nwant\n%s", file, got, want)
	}
}
