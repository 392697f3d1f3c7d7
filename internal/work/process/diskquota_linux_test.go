package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// small returns a directory on a file system of its own.
func small(t *testing.T, options string) string {
	t.Helper()
	base := t.TempDir()
	if err := unix.Mount("tmpfs", base, "tmpfs", 0, options); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(base, unix.MNT_DETACH) })
	return base
}

func left(t *testing.T, dir string) (mb, files int64) {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize >> 20, int64(s.Ffree)
}

// Conformance 34: files of any number and size leave room for the database that
// lies beside them, and the job goes on.
//
// Of a disk with millions of files, 100,000 are kept, which is 0.4 s of the
// fastest shell. A test has no memory for millions: with 320,000, 20,000 are
// kept, and the shell sleeps after each thousand, and after each larger file, so that
// they are worth the time that it may take on a loaded machine until somebody looks.
func TestConfinedLeavesRoom(t *testing.T) {
	for _, c := range []struct {
		name, script string
		inodes, used int
	}{
		{"many small files", `i=0; while :; do head -c 262144 /dev/zero >f$i; i=$((i+1)); sleep 0.01; done`, 20_000, 0},
		{"empty files", `i=0; while :; do until [ $((i%1000)) = 999 ]; do : >f$i; i=$((i+1)); done; : >f$i; i=$((i+1)); sleep 0.015; done`, 320_000, 270_000},
		{"in /tmp, out of its session", `setsid sh -c 'i=0; while :; do head -c 262144 /dev/zero >$TMPDIR/f$i; i=$((i+1)); sleep 0.01; done' & wait`, 20_000, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.HasPrefix(c.script, "setsid") {
				needSetsid(t)
			}
			base := small(t, fmt.Sprintf("size=96m,nr_inodes=%d", c.inodes))
			use(t, filepath.Join(base, "used"), c.used)
			levels(t, func(t *testing.T, level sandbox.Level) {
				ws := filepath.Join(base, string(level))
				if err := os.Mkdir(ws, 0o755); err != nil {
					t.Fatal(err)
				}
				conf := SandboxOptions{Level: level, Private: filepath.Join(base, "private"), Limits: sandbox.Limits{FreeMB: 48}}
				r := New(ws, t.TempDir(), nil, WithSandbox(conf))
				defer r.Close()
				o, err := r.Run(t.Context(), Cmd{Shell: c.script, Timeout: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case o.TimedOut:
					t.Errorf("o.TimedOut is true: %+v", o)
				case !o.Killed:
					t.Errorf("o.Killed is false: %+v", o)
				case o.Code != 137:
					t.Errorf("o.Code is %v, want 137: %+v", o.Code, o)
				case !strings.Contains(o.Note, "too little room on the disk of "+base):
					t.Errorf(`o.Note lacks "too little room on the disk of "+base: %+v`, o)
				}
				mb, files := left(t, base)
				if mb < 8 || files < 100 {
					t.Errorf("%d MB and %d files are left", mb, files)
				}
				t.Logf("%d MB and %d files are left", mb, files)
				did(t, r, `find . "$TMPDIR" -name "f*" -delete; echo still here`, 0, "still here")
				did(t, r, "true", 0, "")
			})
		})
	}
}

// use makes n files: quicker than a shell would.
func use(t *testing.T, dir string, n int) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := unix.Mknod(filepath.Join(dir, strconv.Itoa(i)), unix.S_IFREG|0o600, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// What began with little room may make some; with none, nothing begins.
func TestConfinedWithLittleRoom(t *testing.T) {
	if r := sandbox.Choose(sandbox.Full); r.Err() != nil {
		t.Skip(r.Err())
	}
	base := small(t, "size=32m")
	ws := filepath.Join(base, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	open := func(mb int) *Runner {
		r := New(ws, "", nil, WithSandbox(SandboxOptions{Level: sandbox.Full, Private: filepath.Join(base, "private"), Limits: sandbox.Limits{FreeMB: mb}}))
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	did(t, open(64), "head -c 1000000 /dev/zero >f; rm f; sleep 0.1; echo done", 0, "done")
	if _, err := open(1000).Run(t.Context(), Cmd{Shell: "true"}); err == nil || !strings.Contains(err.Error(), "sandbox.limits.free_mb") {
		t.Errorf("with less than an eighth: %v", err)
	}
	did(t, open(-1), "head -c 28000000 /dev/zero >f; sleep 0.1; echo done", 0, "done")
	if o := did(t, open(0), "sleep 0.1; echo done", 0, "done"); o.Note != "" {
		t.Errorf("note: %s", o.Note)
	}
}
