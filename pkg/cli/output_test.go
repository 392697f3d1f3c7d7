package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestLostOutputIsNotDone(t *testing.T) {
	for _, args := range []string{"version", "version --json", "config show --json", "tools list --json", "--help"} {
		var said bytes.Buffer
		p := cli.Program{Stdout: fullDisk{}, Stderr: &said, Getenv: func(string) string { return "" }}
		if code := p.Run(context.Background(), strings.Fields(args)...); code != 1 {
			t.Errorf("%s: exit %d, want 1", args, code)
		}
		if !strings.HasPrefix(said.String(), "adroit: error: standard output: no space left\nadroit: hint: what was printed is incomplete") {
			t.Errorf("%s: stderr: %q", args, said.String())
		}
	}
}

// What is stopped before there is a job says so, and not what it was about to do.
func TestStoppedEarly(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(&kit.StopError{Signal: syscall.SIGINT})
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/turns.yaml", []byte("turns: [{text: Here.}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	p := cli.Program{Stdout: &said, Stderr: &said, Getenv: func(name string) string { return map[string]string{"HOME": dir, "ADROIT_HOME": t.TempDir()}[name] }}
	if code := p.Run(ctx, "run", "builder", "x", "-m", "script:"+dir+"/turns.yaml", "-C", dir); code != 130 {
		t.Errorf("exit %d, want 130", code)
	}
	if got := said.String(); got != "adroit: error: stopped by interrupt before the command had ended\n" {
		t.Errorf("it says %q", got)
	}
}
