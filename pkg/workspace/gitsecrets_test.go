package workspace

import (
	"path/filepath"
	"slices"
	"testing"
)

// What an environment file held in any commit of any branch is a secret, also
// in a directory, and after it was deleted.
func TestEnvSecrets(t *testing.T) {
	_, dir := gitRepo(t)
	commit := func(name, text string) {
		write(t, filepath.Join(dir, name), text)
		git(t, dir, "add", "-f", name)
		git(t, dir, "commit", "-qm", name)
	}
	commit(".env", "A=first11value\n")
	commit(".env", "A=second22value\n")
	commit("svc/.env.production", "B=third33value\n")
	git(t, dir, "rm", "-q", "svc/.env.production")
	git(t, dir, "commit", "-qm", "gone")
	git(t, dir, "checkout", "-q", "-b", "side")
	commit("x/y/.env", "C=fourth44value\n")
	git(t, dir, "checkout", "-q", "main")
	commit(".env.example", "D=example55value\n")
	write(t, filepath.Join(dir, "deep/er/.env"), "E=fifth66value\n")
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
