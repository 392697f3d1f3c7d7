package request

import (
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
)

// Options are how a job is run and shown.
type Options struct {
	adroit.StartOptions
	JSON   bool // its events as JSON, and nothing else
	Silent bool // nothing
	// Unattended asks nobody: a job that asks a person stays parked.
	Unattended bool
	Deltas     bool // with JSON: also pieces of responses, which are not kept
	Window     int  // the context window that its model was asked for, 0 for none
	// Known is the model's context window as far as it is known, for the meter.
	Known int
}

// A session is a job in the foreground.
type session struct {
	e     *kit.Env
	c     adroit.Client
	id    string
	o     Options
	first bool   // nothing was shown yet
	last  string // the model's text that stands last on the screen
}
