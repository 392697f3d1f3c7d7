package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
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
		for _, k := range FileSecrets(t.Context(), dir, nil) {
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
	if got := FileSecrets(t.Context(), t.TempDir(), nil); got != nil {
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
	hide := secret.NewRedactor(secret.Options{}).With(FileSecrets(t.Context(), dir, names)...)
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
