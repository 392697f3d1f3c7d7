package process

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/work/sandbox"
)

// A Runner whose first command meets a process without descriptors finds its level out
// with a later one: no lesser level is taken meanwhile, and none is refused for good.
func TestLevelAfterShortage(t *testing.T) {
	const mark = "ADROIT_TEST_SHORTAGE"
	if os.Getenv(mark) == "" { // levels are found out once in a process
		cmd := exec.Command(os.Args[0], "-test.run=^TestLevelAfterShortage$", "-test.count=1")
		cmd.Env = append(os.Environ(), mark+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	r := New(t.TempDir(), "", nil, WithSandbox(SandboxOptions{Private: t.TempDir()}))
	t.Cleanup(func() { _ = r.Close() })
	free := takeFiles(t)
	for range 2 {
		if _, err := r.Run(t.Context(), Cmd{Shell: "echo x"}); exhaustion.Of(err) != exhaustion.OpenFiles {
			t.Errorf("without descriptors: %v", err)
		}
	}
	free()
	o, err := r.Run(t.Context(), Cmd{Shell: "echo x"})
	best := sandbox.Choose(sandbox.Auto)
	if best.Err() != nil {
		t.Skip(best.Err())
	}
	if err != nil || o.Code != 0 || r.Sandbox() != string(best.Level) {
		t.Errorf("with descriptors: %+v, %v, level %s, want %s", o, err, r.Sandbox(), best.Level)
	}
}

// takeFiles opens files until none is left to this process; free closes them.
func takeFiles(t *testing.T) (free func()) {
	lim := unix.Rlimit{Cur: 64, Max: 1024}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		t.Skip(err)
	}
	var taken []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if exhaustion.Of(err) == exhaustion.OpenFiles {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, f)
	}
	return func() {
		for _, f := range taken {
			_ = f.Close()
		}
	}
}
