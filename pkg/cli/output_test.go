package cli_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/cli"
)

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestLostOutputIsNotDone(t *testing.T) {
	var said bytes.Buffer
	p := cli.Program{Stdout: fullDisk{}, Stderr: &said, Getenv: func(string) string { return "" }}
	if code := p.Run(context.Background(), "version"); code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	if !strings.Contains(said.String(), "adroit: error: standard output: no space left") {
		t.Errorf("stderr: %q", said.String())
	}
}
