//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// identity returns the ID of the file at a path.
func identity(t *testing.T, path string) rootfs.ID {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return rootfs.ID{Dev: st.Dev, Ino: st.Ino}
}

// confinedRun starts one shell command under a policy and waits for it.
func confinedRun(level Level, p *Policy, script string) (string, error) {
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Dir, cmd.Env = p.Dir, []string{"PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	st, err := Wrap(cmd, level, p)
	if err != nil {
		return "", err
	}
	err = st.Started(cmd.Start())
	if cmd.Process != nil {
		if werr := cmd.Wait(); err == nil {
			err = werr
		}
	}
	return out.String(), err
}

// A command does not run if a path of its policy has been replaced since the policy was made: the
// runner has not inspected the file that would be mounted.
func TestExpect(t *testing.T) {
	// Bubblewrap twice: as on this machine, and as where only bwrap makes mounts.
	for i, f := range append(Survey(), try(Bubblewrap)) {
		mounts := []bwrapMount{"", mountsByName}[i/len(order)]
		t.Run(string(f.Level)+string(mounts), func(t *testing.T) {
			if !f.OK {
				t.Skip(f.Why)
			}
			for _, c := range []struct {
				name, path string // what is replaced
				by         func(path, outside string) error
				refused    bool
			}{
				{"nothing", "sub/.git", func(string, string) error { return nil }, false},
				{"a pinned directory by a link", "sub/.git", func(p, outside string) error { return os.Symlink(outside, p) }, true},
				{"a pinned directory by another", "sub/.git", func(p, _ string) error { return os.Mkdir(p, 0o755) }, true},
				{"its parent by a link", "sub", func(p, outside string) error { return os.Symlink(filepath.Dir(outside), p) }, true},
				{"a fixed file by a link", "sub/.git/config", func(p, outside string) error { return os.Symlink(outside+"/f", p) }, true},
				{"a fixed file by nothing", "sub/.git/config", nil, true},
				{"a secret by another", ".env", func(p, _ string) error { return os.WriteFile(p, nil, 0o600) }, true},
				{"the workspace by a link", "", func(p, outside string) error { return os.Symlink(outside, p) }, true},
			} {
				t.Run(c.name, func(t *testing.T) {
					base, err := filepath.EvalSymlinks(t.TempDir())
					if err != nil {
						t.Fatal(err)
					}
					ws, outside := filepath.Join(base, "ws"), filepath.Join(base, "outside/.git")
					for _, file := range []string{ws + "/sub/.git/config", ws + "/.env", outside + "/f"} {
						if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
							t.Fatal(err)
						}
					}
					p := &Policy{Dir: ws, Write: []string{ws}, Private: base + "/private", Pin: []string{ws + "/sub/.git"}, Fix: []string{ws + "/sub/.git/config"},
						Mask: []string{ws + "/.env"}, Expect: map[string]rootfs.ID{}, Mounts: mounts}
					for _, path := range []string{ws, ws + "/sub/.git", ws + "/sub/.git/config", ws + "/.env"} {
						p.Expect[path] = identity(t, path)
					}
					if at := filepath.Join(ws, c.path); c.refused {
						if err := os.Rename(at, base+"/old"); err != nil {
							t.Fatal(err)
						}
						if c.by != nil {
							if err := c.by(at, outside); err != nil {
								t.Fatal(err)
							}
						}
					}
					out, err := confinedRun(f.Level, p, "echo ran; echo x >sub/.git/new; echo x >new")
					refused := c.refused && (f.Level != Landlock || c.path == "") // it mounts nothing
					if refused != errors.Is(err, ErrChanged) || refused == (err == nil) {
						t.Errorf("the command printed %q and ended with %v", out, err)
					}
					if _, err := os.Lstat(outside + "/new"); err == nil {
						t.Error("the command wrote outside of the workspace")
					}
				})
			}
		})
	}
}

// Where bwrap lets the helper make the mounts, as root and as any user, it does.
func TestBwrapMounts(t *testing.T) {
	if f := try(Bubblewrap); !f.OK {
		t.Skip(f.Why)
	}
	t.Logf("mounts are made %s", bwrapMounts())
	if restricted, _ := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"); bwrapMounts() != mountsInside && string(restricted) != "1\n" {
		t.Errorf("bwrap makes the mounts: %v", attempt(Bubblewrap, mountsInside))
	}
}
