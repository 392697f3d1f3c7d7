//go:build race

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

const ownHelper = "/proc/self/exe"

// buildHelper gives the commands of these tests a helper without the race detector.
// A test that starts this program again hands the helper on in the environment.
func buildHelper() (remove func()) {
	if bin := os.Getenv("ADROIT_TEST_HELPER"); bin != "" {
		sandbox.Helper = bin
		return func() {}
	}
	dir, err := os.MkdirTemp("", "adroit-helper-")
	if err != nil {
		panic(err)
	}
	bin := filepath.Join(dir, "helper")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", bin, "./testdata/helper")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	if err := os.Chmod(dir, 0o755); err != nil { // a test runs as another user
		panic(err)
	}
	os.Setenv("ADROIT_TEST_HELPER", bin)
	sandbox.Helper = bin
	return func() { _ = os.RemoveAll(dir) }
}

// The detector finds nothing in the helper, which has several threads, of which one
// renames directories of an overlay.
func TestHelperHasNoRace(t *testing.T) {
	without := sandbox.Helper
	sandbox.Helper = ownHelper
	t.Cleanup(func() { sandbox.Helper = without })
	const script = "mkdir -p a/b && echo x >a/b/f && mv a c && sleep 0.3 && cat c/b/f"
	levels(t, func(t *testing.T, level sandbox.Level) {
		dir := t.TempDir()
		r := New(dir, "", nil, WithSandbox(SandboxOptions{Level: level, Private: t.TempDir()}))
		t.Cleanup(func() { dirtest.Must(t, r.Close()) })
		did(t, r, script, 0, "x")
	})
	r, _, dir := overlaid(t)
	dirtest.Write(t, filepath.Join(dir, "lower/f"), "x\n")
	o := ran(t, r, "mv lower moved && "+script)
	if o.Code != 0 || o.Uncertain || strings.Contains(o.Text, "DATA RACE") || dirtest.Content(t, filepath.Join(dir, "moved/f")) != "x\n" {
		t.Errorf("%+v", o)
	}
}
