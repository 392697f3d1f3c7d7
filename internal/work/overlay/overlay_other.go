//go:build !linux

package overlay

import (
	"context"
	"errors"

	"github.com/adroit-run/adroit/internal/work/ledger"
)

// An Overlay collects the changes of one command. There are none on this system.
type Overlay struct{}

// A Report is the result of Finish.
type Report struct {
	Changed []string
	Aside   []Aside
	Asked   []Aside
}

// Support finds out whether commands can have an overlay: on this system none can.
type Support struct{}

func (*Support) Usable(string, string) string { return "this system has no overlays" }

func (*Support) Fits(string, []string) string { return "this system has no overlays" }

func New(context.Context, *ledger.Ledger, *ledger.Snapshot, []ledger.Denied) (*Overlay, error) {
	return nil, errors.ErrUnsupported
}

func (*Overlay) Path() string { return "" }

func (*Overlay) Discard() {}

func (*Overlay) Finish(context.Context, *ledger.Snapshot, func(int, string) string) (*Report, error) {
	return nil, errors.ErrUnsupported
}

func (*Report) Messages() []string { return nil }

func (*Report) Unjoined() []string { return nil }

// Recover has nothing to join.
func Recover(context.Context, *ledger.Ledger) error { return nil }
