package git

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/adroit-run/adroit/internal/dirtest"
)

// What an environment file held in any commit of any branch is a secret, also
// in a directory, and after it was deleted.
func TestEnvSecrets(t *testing.T) {
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
	dirtest.Write(t, filepath.Join(dir, "deep/er/.env"), "E=fifth66value\n")
	var got []string
	for _, k := range EnvSecrets(t.Context(), dir) {
		got = append(got, k.Value)
	}
	slices.Sort(got)
	got = slices.Compact(got)
	if want := []string{"fifth66value", "first11value", "fourth44value", "second22value", "third33value"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := EnvSecrets(t.Context(), t.TempDir()); got != nil {
		t.Errorf("a directory without anything: %v", got)
	}
}
