//go:build !linux

package workspace

import (
	"context"
	"errors"
)

// An overlay collects what one command changes. There are none on this system.
type overlay struct{}

type overlayReport struct{ Changed, Notes []string }

type overlays struct{}

func (*overlays) usable(string, string) string { return "this system has no overlays" }

func (*overlays) fits(string, []string) string { return "this system has no overlays" }

func makeOverlay(*Snapshot) (*overlay, error) { return nil, errors.ErrUnsupported }

func (*overlay) path() string { return "" }

func (*overlay) discard() {}

func (*overlay) finish(context.Context, *Snapshot, func(int, string) string) (*overlayReport, error) {
	return nil, errors.ErrUnsupported
}

func (*overlayReport) words() []string { return nil }

func (l *Ledger) recoverOverlays(context.Context) error { return nil }

func (b *book) overlaid(string) bool { return false }
