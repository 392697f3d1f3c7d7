package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

func TestHooksPath(t *testing.T) {
	for config, want := range map[string]string{
		"[core]\n\thooksPath = .husky/_\n":                       ".husky/_",
		"[core]\n\tbare = false\n[Core] HooksPath=\"a b\" # x\n": "a b",
		"[core]\n\thooksPath = a\n\thooksPath = b ; why\n":       "b",
		"[core]\n\thooksPath = /etc/hooks\n":                     "/etc/hooks",
		"[other]\n\thooksPath = x\n":                             "",
		"[core \"sub\"]\n\thooksPath = x\n":                      "",
		"[core]\n\thooksPath = ~/hooks\n":                        "",
	} {
		if got := rootfs.GitHooksPath([]byte(config)); got != want {
			t.Errorf("%q: %q, want %q", config, got, want)
		}
	}
}

// Hooks that the settings put into the workspace run on this machine with the
// next commit: a command changes them no more than .git/hooks.
func TestConfinedHooksPath(t *testing.T) {
	for _, c := range []struct{ path, hook string }{{".husky/_", ".husky/pre-commit"}, {"tools/hooks", "tools/hooks/pre-commit"}} {
		t.Run(c.path, func(t *testing.T) {
			levels(t, func(t *testing.T, level sandbox.Level) {
				r, dir := cellmate(t, SandboxOptions{Level: level})
				dirtest.Git(t, dir, "init", "-q")
				dirtest.Git(t, dir, "config", "core.hooksPath", c.path)
				at := filepath.Join(dir, c.hook)
				dirtest.Write(t, filepath.Join(dir, c.path, "pre-push"), "#!/bin/sh\n")
				dirtest.Write(t, at, "#!/bin/sh\nexit 0\n")
				o := did(t, r, "echo evil >>"+c.hook+"; echo evil >"+c.path+"/post-commit; mv "+strings.Split(c.path, "/")[0]+" away && mkdir -p "+c.path+" && echo evil >"+c.path+"/pre-commit; echo done", 0, "done")
				b, err := os.ReadFile(at)
				if level == sandbox.Landlock && os.IsNotExist(err) {
					// Its directory was moved away, and with it the hook as it was.
					b, err = os.ReadFile(filepath.Join(dir, "away", strings.SplitN(c.hook, "/", 2)[1]))
				}
				if err != nil || string(b) != "#!/bin/sh\nexit 0\n" {
					t.Errorf("the hook is %q, %v; note: %s", b, err, o.Note)
				}
				if b, err := os.ReadFile(filepath.Join(dir, c.path, "post-commit")); err == nil {
					t.Errorf("a hook was made: %q; note: %s", b, o.Note)
				}
			})
		})
	}
	t.Run("not there", func(t *testing.T) {
		levels(t, func(t *testing.T, level sandbox.Level) {
			r, dir := cellmate(t, SandboxOptions{Level: level})
			dirtest.Git(t, dir, "init", "-q")
			dirtest.Git(t, dir, "config", "core.hooksPath", "hooks")
			o := did(t, r, "mkdir hooks && echo evil >hooks/pre-commit; echo done", 0, "done")
			if rootfs.Exists(filepath.Join(dir, "hooks")) || !strings.Contains(o.Note, "hooks was made by the command and taken away") {
				t.Errorf("the hook is there; note: %s", o.Note)
			}
		})
	})
}

// gitFails runs git as a user would who inspects a command's results.
func gitFails(dir string, args ...string) error {
	return exec.Command("git", append([]string{"-C", dir}, args...)...).Run()
}
