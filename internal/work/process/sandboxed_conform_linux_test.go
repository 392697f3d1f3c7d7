package process

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// Conformance 29, confined.
func TestConfinedFlood(t *testing.T) {
	levels(t, func(t *testing.T, level sandbox.Level) {
		r, _ := cellmate(t, SandboxOptions{Level: level})
		did(t, r, "true", 0, "")
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		o := did(t, r, "yes | head -c 104857600; echo the end", 0, "the end")
		runtime.ReadMemStats(&after)
		if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 16<<20 {
			t.Errorf("%d MiB were allocated", grown>>20)
		}
		if o.Bytes != 100<<20+8 || o.Dropped != o.Bytes-2*keepHalf {
			t.Errorf("%d bytes, %d dropped", o.Bytes, o.Dropped)
		}
	})
}

// Conformance 30 and 31, confined.
func TestConfinedOutputAndInput(t *testing.T) {
	t.Parallel()
	levels(t, func(t *testing.T, level sandbox.Level) {
		t.Parallel()
		r, dir := cellmate(t, SandboxOptions{Level: level})
		for script, want := range unprintable {
			if o := sh(t, r, script); o.Text != want || !utf8.ValidString(o.Text) {
				t.Errorf("%s: %q, want %q", script, o.Text, want)
			}
		}
		dirtest.Git(t, dir, "init", "-q")
		dirtest.Write(t, filepath.Join(dir, "f"), "x")
		dirtest.Git(t, dir, "add", "f")
		for _, script := range impatient {
			start := time.Now()
			if o := sh(t, r, script); o.TimedOut || time.Since(start) > 20*time.Second {
				t.Errorf("%s: %+v", script, o)
			}
		}
	})
}

// Conformance 37, confined: nothing grows with the number of commands, not the
// mounts and not the build caches either.
func TestConfinedManyCommandsLeakNothing(t *testing.T) {
	count := 40
	if testing.Short() {
		count = 10
	}
	// Tests of other packages mount file systems in directories of their own
	// meanwhile; those do not count, or they go again.
	mounted := func(own string) (n int) {
		b, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if at := strings.Fields(line)[4]; !strings.HasPrefix(at, filepath.Join(os.TempDir(), "Test")) || strings.HasPrefix(at, own) {
				n++
			}
		}
		return n
	}
	entries := func(dir string) int { es, _ := os.ReadDir(dir); return len(es) }
	levels(t, func(t *testing.T, level sandbox.Level) {
		r, dir := cellmate(t, SandboxOptions{Level: level})
		did(t, r, "true", 0, "")
		own := filepath.Dir(filepath.Dir(dir)) // of this test, above all that it makes
		fds, mounts, routines := entries("/proc/self/fd"), mounted(own), runtime.NumGoroutine()
		slots := entries(filepath.Join(r.sandbox.Private, "caches"))
		for i := range count {
			script := "echo " + strconv.Itoa(i)
			if i%8 == 0 { // it holds the output for a moment
				script = "sleep 300 & " + script
			}
			did(t, r, script, 0, strconv.Itoa(i)+"\n")
		}
		for _, c := range []struct {
			what     string
			was, is  int
			tolerate int
		}{
			{"file descriptors", fds, entries("/proc/self/fd"), 3},
			{"goroutines", routines, runtime.NumGoroutine(), 5},
			{"build caches", slots, entries(filepath.Join(r.sandbox.Private, "caches")), 0},
		} {
			if c.is > c.was+c.tolerate {
				t.Errorf("%s went from %d to %d", c.what, c.was, c.is)
			}
		}
		until(t, "the children to die", func() bool { return !inhabited(dir) })
		until(t, "the mounts to go", func() bool { return mounted(own) <= mounts })
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, file := range stats {
			b, _ := os.ReadFile(file)
			_, rest, _ := strings.Cut(string(b), ") ")
			if f := strings.Fields(rest); len(f) > 1 && f[0] == "Z" && f[1] == strconv.Itoa(os.Getpid()) {
				t.Errorf("a zombie: %s", b)
			}
		}
	})
}

// A workspace may be the user's home, or around it. Then files in the home can be changed, except
// for secrets, adroit's own files, and files linked into the user's programs.
func TestConfinedHome(t *testing.T) {
	for _, below := range []string{"", "home/a"} {
		t.Run("home="+below, func(t *testing.T) {
			levels(t, func(t *testing.T, level sandbox.Level) {
				base := t.TempDir()
				ws := filepath.Join(base, "ws")
				home := filepath.Join(ws, below)
				data := filepath.Join(home, ".local/share/adroit")
				cache := filepath.Join(home, ".cache/go-build")
				for _, f := range []string{".ssh/id_rsa", ".local/share/adroit/jobs.db", ".cache/go-build/of-the-user", ".bashrc", "notes", "go/bin/tool"} {
					dirtest.Write(t, filepath.Join(home, f), "content of "+f+"\n")
				}
				t.Setenv("HOME", home)
				t.Setenv("GOCACHE", cache)
				t.Setenv("GOPATH", "") // restored at the end
				if err := os.Unsetenv("GOPATH"); err != nil {
					t.Fatal(err)
				}
				r := New(ws, "", nil, WithSandbox(SandboxOptions{Level: level, Private: filepath.Join(data, "j1/sandbox"), Hide: []string{data}}))
				defer r.Close()
				at := "cd ./" + below + "; "
				did(t, r, at+"cat notes && echo more >>notes && echo x >new && cat new", 0, "content of notes")
				did(t, r, at+"echo x >$HOME/f && echo x >$TMPDIR/f && cat $HOME/f $TMPDIR/f", 0, "x\nx\n")
				if rootfs.Exists(filepath.Join(home, "f")) {
					t.Error("the home of commands is the user's")
				}
				did(t, r, "echo x >$GOCACHE/mine && cat $GOCACHE/mine", 0, "x")
				if level != sandbox.Landlock {
					did(t, r, at+"cat .ssh/id_rsa", 1, "")
					did(t, r, at+"cat .local/share/adroit/jobs.db", 1, "")
					did(t, r, at+"echo x >.cache/go-build/poison", 2, "")
				}
				did(t, r, `test "${GOPATH:-$HOME/go}" = "`+filepath.Join(home, "go")+`" && cat "$GOPATH/bin/tool"`, 0, "go/bin/tool")
				if rootfs.Exists(filepath.Join(cache, "mine")) {
					t.Error("the user's build cache was written")
				}
			})
		})
	}
}
