package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	dirtest.Git(t, dir, "checkout", "-q", "--orphan", "root")
	commit(".env", "F=sixth77value\n")
	dirtest.Git(t, dir, "checkout", "-q", "main")
	dirtest.Write(t, filepath.Join(dir, "deep/er/.env"), "E=fifth66value\n")
	found := func(dir string) []string {
		var values []string
		for _, k := range EnvSecrets(t.Context(), dir) {
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
	if got := EnvSecrets(t.Context(), t.TempDir()); got != nil {
		t.Errorf("a directory without anything: %v", got)
	}
}
