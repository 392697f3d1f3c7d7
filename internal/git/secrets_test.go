package git

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// What an environment file held in any commit of any branch is a secret, also
// in a directory, and after it was deleted.
func TestFileSecrets(t *testing.T) {
	_, dir := gitRepo(t)
	commit := func(name, text string) {
		dirtest.Write(t, filepath.Join(dir, name), text)
		dirtest.Git(t, dir, "add", "-f", name)
		dirtest.Git(t, dir, "commit", "-qm", name)
	}
	commit(".env", "A=first11value\n")
	commit(".env", "A=second22value\n")
	commit("svc/.env.production", "B=third33value\n")
	dirtest.Git(t, dir, "rm", "-q", "svc/.env.production")
	dirtest.Git(t, dir, "commit", "-qm", "gone")
	dirtest.Git(t, dir, "checkout", "-q", "-b", "side")
	commit("x/y/.env", "C=fourth44value\n")
	dirtest.Git(t, dir, "checkout", "-q", "main")
	commit(".env.example", "D=example55value\n")
	dirtest.Git(t, dir, "checkout", "-q", "--orphan", "root")
	commit(".env", "F=sixth77value\n")
	dirtest.Git(t, dir, "checkout", "-q", "main")
	dirtest.Write(t, filepath.Join(dir, "deep/er/.env"), "E=fifth66value\n")
	found := func(dir string) []string {
		var values []string
		for _, k := range FileSecrets(t.Context(), dir, SecretSearch{}) {
			values = append(values, k.Value)
		}
		slices.Sort(values)
		return slices.Compact(values)
	}
	want := []string{"fifth66value", "first11value", "fourth44value", "second22value", "sixth77value", "third33value"}
	if got := found(dir); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	dirtest.Git(t, dir, "config", "log.showRoot", "false")
	dirtest.Git(t, dir, "config", "diff.relative", "true")
	if got := found(filepath.Join(dir, "deep")); !slices.Equal(got, want) {
		t.Errorf("from a directory of a repository whose configuration shows less: got %v, want %v", got, want)
	}
	first := strings.TrimSpace(dirtest.Git(t, dir, "rev-list", "--max-parents=0", "main"))
	if err := os.Remove(filepath.Join(dir, ".git/objects", first[:2], first[2:])); err != nil {
		t.Fatal(err)
	}
	if got, want := found(dir), []string{"fifth66value", "second22value"}; !slices.Equal(got, want) {
		t.Errorf("with a history that cannot be read: got %v, want %v of the files and the last commit", got, want)
	}
	if got := FileSecrets(t.Context(), t.TempDir(), SecretSearch{}); got != nil {
		t.Errorf("a directory without anything: %v", got)
	}
}

// Git prints the content that it stores of a denied file: each line that the file has or had, in
// any commit, in the index, in a stash, is a secret, unless it is also in another file.
func TestFileSecretsOfDeniedFiles(t *testing.T) {
	_, dir := gitRepo(t)
	write := func(name, text string) {
		dirtest.Write(t, filepath.Join(dir, name), text)
		dirtest.Git(t, dir, "add", "-f", name)
	}
	commit := func(name, text string) {
		write(name, text)
		dirtest.Git(t, dir, "commit", "-qm", name)
	}
	commit("main.go", "package main\n\nregion: eu-west-1\n")
	commit("conf/Prod.yaml", "region: eu-west-1\npassword: older one\n")
	commit("conf/Prod.yaml", "region: eu-west-1\npassword: newer one\n")
	commit("deploy/a.tfvars", "phrase = \"correct horse\"\n")
	dirtest.Git(t, dir, "rm", "-q", "deploy/a.tfvars")
	dirtest.Git(t, dir, "commit", "-qm", "gone")
	commit("lib/server.pem", "MIIBcertificate\n")
	write("conf/Prod.yaml", "password: kept one\n")
	dirtest.Git(t, dir, "stash", "-q")
	write("conf/Prod.yaml", "password: staged one\n")
	dirtest.Write(t, filepath.Join(dir, "conf/Prod.yaml"), "password: the work tree's\n")

	names := &rootfs.DenyList{Deny: []string{"conf/prod.{yaml,yml}", "*.tfvars"}}
	hide := secret.NewRedactor(secret.Options{}).With(FileSecrets(t.Context(), dir, SecretSearch{Names: names})...)
	for _, line := range []string{"password: older one", "+password: newer one", "correct horse", "MIIBcertificate", "password: kept one", "password: staged one", "password: the work tree's"} {
		if got, hit := hide.String("x " + line); !hit || strings.Contains(got, "one") || strings.Contains(got, "horse") {
			t.Errorf("%q is shown as %q", line, got)
		}
	}
	for _, line := range []string{"region: eu-west-1", "package main"} {
		if got, hit := hide.String(line); hit {
			t.Errorf("%q, which stands in a file that may be read, is shown as %q", line, got)
		}
	}
}

// The answer of a history is kept by what decides it: the refs of all work trees and the index.
// Whatever changes one of them has the history searched again, and an error is not kept.
func TestFileSecretsKept(t *testing.T) {
	_, dir := gitRepo(t)
	data := t.TempDir()
	var warned []string
	find := func(dir string) string {
		warned = nil
		warn := func(format string, args ...any) { warned = append(warned, fmt.Sprintf(format, args...)) }
		hide := FileSecrets(t.Context(), dir, SecretSearch{Names: &rootfs.DenyList{Deny: []string{"prod.yaml"}}, Data: data, Warn: warn})
		fresh := FileSecrets(t.Context(), dir, SecretSearch{Names: &rootfs.DenyList{Deny: []string{"prod.yaml"}}})
		if !slices.Equal(hide, fresh) {
			t.Errorf("%v are kept, and there are %v", hide, fresh)
		}
		var values []string
		for _, k := range hide {
			values = append(values, k.Value)
		}
		slices.Sort(values)
		return strings.Join(slices.Compact(values), " ")
	}
	answers := func() int {
		entries, err := os.ReadDir(filepath.Join(data, "cache", "versions"))
		dirtest.Must(t, err)
		return len(entries)
	}
	commit := func(dir, name, text string) {
		dirtest.Write(t, filepath.Join(dir, name), text)
		dirtest.Git(t, dir, "add", "-f", name)
		dirtest.Git(t, dir, "commit", "-qm", name)
	}
	want := func(dir, want string) {
		t.Helper()
		for range 2 {
			if got := find(dir); got != want || len(warned) > 0 {
				t.Errorf("got %q, want %q; warned %q", got, want, warned)
			}
		}
	}
	commit(dir, ".env", "A=first11value\n")
	want(dir, "first11value")
	n := answers()
	want(dir, "first11value")
	if again := answers(); again != n {
		t.Errorf("%d answers, %d before: nothing had changed", again, n)
	}
	commit(dir, ".env", "A=second22value\n")
	want(dir, "first11value second22value")
	dirtest.Git(t, dir, "pack-refs", "--all")
	dirtest.Git(t, dir, "branch", "loose")
	dirtest.Git(t, dir, "commit", "-q", "--amend", "--allow-empty", "-m", "again")
	want(dir, "first11value second22value")
	dirtest.Write(t, filepath.Join(dir, "prod.yaml"), "phrase: staged33one\n")
	dirtest.Git(t, dir, "add", "-f", "prod.yaml")
	want(dir, "first11value phrase: staged33one second22value staged33one")
	side := filepath.Join(t.TempDir(), "side")
	dirtest.Git(t, dir, "worktree", "add", "-q", "--detach", side)
	commit(side, ".env", "A=fourth44value\n") // a HEAD that no branch has
	want(dir, "first11value fourth44value phrase: staged33one second22value staged33one")
	want(side, "first11value fourth44value second22value")
	dirtest.Git(t, dir, "rm", "-q", "--cached", "prod.yaml")
	dirtest.Must(t, os.Remove(filepath.Join(dir, "prod.yaml")))
	dirtest.Git(t, dir, "tag", "-f", "another")
	first := strings.TrimSpace(dirtest.Git(t, dir, "rev-list", "--max-parents=0", "HEAD"))
	object := filepath.Join(dir, ".git/objects", first[:2], first[2:])
	dirtest.Must(t, os.Rename(object, object+".gone"))
	if find(dir); len(warned) != 1 || !strings.Contains(warned[0], "was not searched whole") {
		t.Errorf("a history that cannot be read: warned %q", warned)
	}
	dirtest.Must(t, os.Rename(object+".gone", object))
	want(dir, "first11value fourth44value second22value")
	commit(dir, "prod.yaml", "region: eu-west-1\n")
	hidden := "eu-west-1 first11value fourth44value region: eu-west-1 second22value"
	want(dir, hidden)
	commit(dir, "main.txt", "region: eu-west-1\n") // everybody may read it there
	want(dir, "first11value fourth44value second22value")
	dirtest.Write(t, filepath.Join(dir, "main.txt"), "other\n")
	want(dir, "first11value fourth44value second22value") // the index has the line
	commit(dir, "main.txt", "other\n")
	want(dir, hidden)
	dirtest.Git(t, dir, "checkout", "-q", "HEAD^")
	want(dir, "first11value fourth44value second22value")
}

// An answer that was found while the refs changed is not kept for the refs as they were.
func TestFileSecretsMeanwhile(t *testing.T) {
	_, dir := gitRepo(t)
	dirtest.Git(t, dir, "branch", "other")
	dirtest.Git(t, dir, "branch", "-D", "other") // which may leave an empty packed-refs
	f := &finding{SecretSearch: SecretSearch{Names: &rootfs.DenyList{}, Data: t.TempDir()}, top: dir}
	f.common, f.refs, f.staged = storedDigests(dir)
	asked := 0
	ask := func() (int, error) {
		if asked++; asked == 1 {
			dirtest.Git(t, dir, "branch", "other")
		}
		return asked, nil
	}
	for want := range 3 {
		if got, err := kept(f, "x", f.refs, ask); err != nil || got != min(want, 1)+1 {
			t.Errorf("answer %d is %d: %v", want, got, err)
		}
		dirtest.Git(t, dir, "branch", "-f", "other")
		dirtest.Git(t, dir, "branch", "-D", "other")
		if _, refs, _ := storedDigests(dir); refs != f.refs {
			t.Fatal("the refs are not as they were")
		}
	}
}

// A commit graph that a command has written hides no commit.
func TestFileSecretsCommitGraph(t *testing.T) {
	_, dir := gitRepo(t)
	for _, text := range []string{"A=first11value\n", "A=second22value\n", "A=third33value\n"} {
		dirtest.Write(t, filepath.Join(dir, ".env"), text)
		dirtest.Git(t, dir, "add", "-f", ".env")
		dirtest.Git(t, dir, "commit", "-qm", "x")
	}
	dirtest.Git(t, dir, "commit-graph", "write", "--reachable")
	file := filepath.Join(dir, ".git/objects/info/commit-graph")
	b, err := os.ReadFile(file)
	dirtest.Must(t, err)
	at := int64(0)
	for i := 8; i < 200; i += 12 { // the table of contents
		if string(b[i:i+4]) == "CDAT" {
			at = int64(binary.BigEndian.Uint64(b[i+4:]))
			break
		}
	}
	for i := at; i+36 <= int64(len(b))-20; i += 36 { // each commit: tree, first parent, second parent, generation and time
		binary.BigEndian.PutUint32(b[i+20:], 0x70000000) // no parent
	}
	dirtest.Must(t, os.Chmod(file, 0o600))
	dirtest.Must(t, os.WriteFile(file, b, 0o600))
	if log := dirtest.Git(t, dir, "log", "--format=%s", "--all"); strings.Count(log, "x") != 1 {
		testenv.Missing(t, fmt.Sprintf("this git does not go by the graph: %q", log))
	}
	var values []string
	for _, k := range FileSecrets(t.Context(), dir, SecretSearch{}) {
		values = append(values, k.Value)
	}
	if !slices.Contains(values, "first11value") || !slices.Contains(values, "second22value") {
		t.Errorf("found %q", values)
	}
}

// A new line may look like the head of a file in a diff, and is searched like any other.
func TestLeaks(t *testing.T) {
	diff := "diff --git a/k.txt b/k.txt\n--- a/k.txt\n+++ b/k.txt\n@@ -1,2 +1,3 @@\n one\n+++ SECRET\n two\n" +
		"@@ -9,2 +10,3 @@ one\n SECRET\n-SECRET\n+two\n+SECRET\n" +
		"diff --git a/l.txt b/l.txt\n--- /dev/null\n+++ b/l.txt\n@@ -0,0 +1 @@\n+SECRET\n"
	found := Leaks(diff, func(text string) (list []secret.Finding) {
		for i, line := range strings.Split(text, "\n") {
			if strings.Contains(line, "SECRET") {
				list = append(list, secret.Finding{Kind: "key", Line: i + 1})
			}
		}
		return list
	})
	var got []string
	for _, l := range found {
		got = append(got, fmt.Sprintf("%s:%d", l.File, l.Line))
	}
	if want := []string{"k.txt:2", "k.txt:12", "l.txt:1"}; !slices.Equal(got, want) {
		t.Errorf("found in %v, want %v", got, want)
	}
}
