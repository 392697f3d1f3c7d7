//go:build !(linux && (amd64 || arm64)) && !darwin

package sandbox

import (
	"context"
	"fmt"
	"os/exec"
)

var order = []Level{Full}

func try(l Level) Finding {
	return Finding{Level: l, Why: "there is no sandbox for this system yet", Help: "use Linux on amd64 or arm64, or macOS"}
}

// A Stage is a command on its way into the sandbox.
type Stage struct{}

// Wrap refuses every level but Off.
func Wrap(_ *exec.Cmd, level Level, _ *Policy) (*Stage, error) {
	if level == Off {
		return &Stage{}, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrRefused, try(level).Why)
}

// Started returns err.
func (*Stage) Started(err error) error { return err }

// ProbeCollect fails: there are no overlays.
func ProbeCollect(context.Context, *Policy) error { return ErrRefused }
