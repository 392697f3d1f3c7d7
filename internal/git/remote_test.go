package git

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

func TestParseRemote(t *testing.T) {
	for in, want := range map[string]Remote{
		"https://github.com/o/n.git":            {"github.com", "o/n"},
		"https://user:pw@GitHub.com/o/n":        {"github.com", "o/n"},
		"git@github.com:o/n.git":                {"github.com", "o/n"},
		"ssh://git@ssh.github.com:443/o/n.git/": {"ssh.github.com", "o/n"},
		"github.com:o/n":                        {"github.com", "o/n"},
	} {
		if got, err := parseRemote(in); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "../n", "/srv/git/n.git", "file:///srv/n.git", "https://github.com/", "ext::sh -c x"} {
		if got, err := parseRemote(in); err == nil && got.Host != "" && got.Path != "" && got.Host != "ext" {
			t.Errorf("%q: %v", in, got)
		}
	}
}

// TestExplain: what keeps git from reading a work tree is named, with what to do about it.
func TestExplain(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil        func(t *testing.T, dir string)
		reason, hint string
	}{
		"a filter that is missing": {func(t *testing.T, dir string) {
			home := t.TempDir()
			config := filepath.Join(home, ".gitconfig")
			dirtest.Write(t, config, "[filter \"lfs\"]\n\trequired = true\n\tprocess = no-such-git-lfs filter-process\n")
			t.Setenv("HOME", home)
			t.Setenv("GIT_CONFIG_GLOBAL", config)
			dirtest.Write(t, filepath.Join(dir, ".gitattributes"), "*.bin filter=lfs\n")
			dirtest.Write(t, filepath.Join(dir, "a.bin"), "b\n")
		}, "needs the program no-such-git-lfs for the filter \"lfs\"", "filter.lfs.required false"},
		"a broken index": {func(t *testing.T, dir string) {
			dirtest.Write(t, filepath.Join(dir, ".git", "index"), "garbage")
		}, "cannot read the index", "git reset"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			dirtest.Write(t, filepath.Join(dir, "a.bin"), "a\n")
			for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"}} {
				if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
					t.Fatalf("%s: %v", out, err)
				}
			}
			tt.spoil(t, dir)
			_, err := OnHost(dir).Status(t.Context())
			var state *StateError
			if !errors.As(err, &state) || !strings.Contains(state.Error(), tt.reason) || !strings.Contains(state.Hint(), tt.hint) {
				t.Errorf("%v", err)
			}
		})
	}
}
