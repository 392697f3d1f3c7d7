package process

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// git status of a repository asks every repository inside that its index or its list of modules
// names. A program that a command leaves in one of those must not run when the user inspects the
// work, nor because of the user's shell prompt.
func TestConfinedRepositoriesInside(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		r, dir := cellmate(t, SandboxOptions{Level: level})
		ran := filepath.Join(t.TempDir(), "ran")
		git := func(args ...string) {
			t.Helper()
			cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", "-C", dir}, args...)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v, %s", args, err, out)
			}
			if rootfs.Exists(ran) {
				t.Fatalf("git %v ran what a command had left", args)
			}
		}
		git("init", "-q")
		git("commit", "-q", "--allow-empty", "-m", "one")

		// The trick works where nothing guards it.
		git("init", "-q", "sub")
		git("-C", "sub", "commit", "-q", "--allow-empty", "-m", "one")
		git("add", "sub")
		dirtest.Write(t, filepath.Join(dir, "sub/.git/config"), "[core]\n\tfsmonitor = touch '"+ran+"';false\n")
		_ = exec.Command("git", "-C", dir, "status").Run()
		if os.Remove(ran) != nil {
			t.Fatal("git status does not ask the repository inside: the test shows nothing")
		}
		dirtest.Write(t, filepath.Join(dir, "sub/.git/config"), "[core]\n\tbare = false\n")

		evil := `[core] fsmonitor = "touch '` + ran + `';false"`
		for name, script := range map[string]string{
			"made":            `git init -q new && cd new && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && echo '` + strings.ReplaceAll(evil, "'", `'\''`) + `' >>.git/config; cd .. && git add new`,
			"made, then more": `cd new2 && echo '` + strings.ReplaceAll(evil, "'", `'\''`) + `' >>.git/config; cd .. && git add new2`,
			"there":           `echo '` + strings.ReplaceAll(evil, "'", `'\''`) + `' >>sub/.git/config; rm -rf sub/.git/config; true`,
			"file":            `mkdir -p f && cp -r sub/.git g && echo '` + strings.ReplaceAll(evil, "'", `'\''`) + `' >>g/config; echo 'gitdir: ../g' >f/.git; git add f; true`,
			"link":            `mkdir -p l && cp -r sub/.git h && echo '` + strings.ReplaceAll(evil, "'", `'\''`) + `' >>h/config; ln -s ../h l/.git; git add l; true`,
		} {
			if name == "made, then more" {
				did(t, r, `git init -q new2 && git -C new2 -c user.name=a -c user.email=a@b commit -q --allow-empty -m x`, 0, "")
			}
			o := did(t, r, script, 0, "")
			_ = exec.Command("git", "-C", dir, "status").Run()
			if os.Remove(ran) == nil {
				t.Errorf("%s: git status ran what the command had left; note: %q", name, o.Note)
			}
		}
		if !rootfs.Exists(filepath.Join(dir, "sub/.git/config")) || !rootfs.Exists(filepath.Join(dir, "new/.git/HEAD")) {
			t.Error("a repository that is as it should be is not there any more")
		}

		// A submodule keeps its settings with the repository around it.
		git("-c", "core.fsmonitor=", "submodule", "--quiet", "add", "./sub", "module/a")
		did(t, r, `echo '`+strings.ReplaceAll(evil, "'", `'\''`)+`' >>.git/modules/module/a/config; echo x >.git/modules/module/a/hooks/post-checkout; true`, 0, "")
		_ = exec.Command("git", "-C", dir, "status").Run()
		if rootfs.Exists(ran) || rootfs.Exists(filepath.Join(dir, ".git/modules/module/a/hooks/post-checkout")) {
			t.Error("the settings of a submodule were changed")
		}
	})
}

// With another HOME, the secrets in the account's own home are hidden as well.
func TestConfinedAccount(t *testing.T) {
	u, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	entries, _ := os.ReadDir(u.HomeDir)
	i := slices.IndexFunc(entries, func(e os.DirEntry) bool { return e.Type().IsRegular() })
	if i < 0 {
		t.Skip("there is no file in " + u.HomeDir)
	}
	t.Setenv("HOME", t.TempDir())
	levels(t, func(t *testing.T, level sandbox.Level) {
		r, _ := cellmate(t, SandboxOptions{Level: level})
		did(t, r, "cat "+filepath.Join(u.HomeDir, entries[i].Name()), 1, "")
		did(t, r, "sh -c 'echo hi'; git --version && go version", 0, "go version")
	})
}
