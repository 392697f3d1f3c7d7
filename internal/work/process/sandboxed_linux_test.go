package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// levels runs a test under every level that this machine can do. In CI, which
// installs bubblewrap, its absence is a failure. What is the same at another level is not
// run at those without.
func levels(t *testing.T, test func(t *testing.T, level sandbox.Level), without ...sandbox.Level) {
	for _, f := range sandbox.Survey() {
		if slices.Contains(without, f.Level) {
			continue
		}
		t.Run(string(f.Level), func(t *testing.T) {
			if !f.OK {
				if os.Getenv("CI") != "" && strings.Contains(f.Why, "not installed") {
					t.Fatalf("%s: %s", f.Why, f.Help)
				}
				t.Skipf("%s: %s", f.Why, f.Help)
			}
			test(t, f.Level)
		})
	}
}

// cellmate returns a Runner whose commands are confined.
func cellmate(t *testing.T, c SandboxOptions) (*Runner, string) {
	t.Helper()
	base := t.TempDir()
	dir := filepath.Join(base, "ws")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if c.Private == "" {
		c.Private = filepath.Join(base, "private")
	}
	r := New(dir, filepath.Join(base, "logs"), nil, WithSandbox(c))
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		// The go command starts a process of its own session that writes
		// telemetry; without namespaces it may outlive the command by a moment.
		for end := time.Now().Add(2 * time.Minute); os.RemoveAll(c.Private) != nil && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
	})
	return r, dir
}

// did checks one command's code and that its output has a text.
func did(t *testing.T, r *Runner, script string, code int, text string) *Output {
	t.Helper()
	o, err := r.Run(t.Context(), Cmd{Shell: script, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	if o.Code != code || !strings.Contains(o.Text, text) {
		t.Errorf("%s: code %d, want %d; it printed %q, want %q in it", script, o.Code, code, o.Text, text)
	}
	return o
}

func TestConfinedCommand(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	dirtest.Write(t, filepath.Join(home, "secret"), "of the user")
	outside := t.TempDir()
	levels(t, func(t *testing.T, level sandbox.Level) {
		r, dir := cellmate(t, SandboxOptions{Level: level})
		dirtest.Write(t, filepath.Join(dir, "f"), "in\n")
		o := did(t, r, "cat f; echo new >g; exit 7", 7, "in\n")
		if o.Sandbox != string(level) {
			t.Errorf("the output says the level is %q", o.Sandbox)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "g")); err != nil || string(got) != "new\n" {
			t.Errorf("g = %q, %v", got, err)
		}
		did(t, r, "echo x >"+outside+"/f", 2, "")
		did(t, r, "cat "+home+"/secret", 1, "")
		did(t, r, "echo $HOME >$HOME/f; cat $HOME/f $TMPDIR/x 2>&1; echo kept >$TMPDIR/x", 0, "")
		did(t, r, "cat $TMPDIR/x", 0, "kept")
		if rootfs.Exists(filepath.Join(home, "f")) || rootfs.Exists(filepath.Join(outside, "f")) {
			t.Error("something was written outside")
		}
		did(t, r, "kill -9 $$", 137, "")
		if _, err := r.Run(t.Context(), Cmd{Args: []string{"no-such-program"}}); err == nil || !strings.Contains(err.Error(), `"no-such-program" was not found`) {
			t.Errorf("a program that does not exist: %v", err)
		}
	})
}

func TestConfinedGoTest(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "compiles the standard library where the cache cannot be shared")
	r, dir := cellmate(t, SandboxOptions{Level: sandbox.Full})
	dirtest.Write(t, filepath.Join(dir, "go.mod"), "module x\n\ngo 1.24\n")
	dirtest.Write(t, filepath.Join(dir, "x_test.go"), `package x
import ("io"; "net"; "net/http"; "net/http/httptest"; "testing"; "time")
func TestX(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hi") }))
	defer s.Close()
	resp, err := http.Get(s.URL)
	if err != nil { t.Fatal(err) }
	b, _ := io.ReadAll(resp.Body)
	if string(b) != "hi" { t.Fatal(string(b)) }
	if c, err := net.DialTimeout("tcp", "192.0.2.1:80", time.Second); err == nil { c.Close(); t.Fatal("the internet is there") }
}
`)
	began := time.Now()
	did(t, r, "go test ./...", 0, "ok")
	cold := time.Since(began)
	// The second command finds the first one's build: otherwise go would not report it as cached.
	began = time.Now()
	did(t, r, "go test ./...", 0, "(cached)")
	t.Logf("go test took %s, then %s", cold, time.Since(began))
}
