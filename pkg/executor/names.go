package executor

import (
	"github.com/adroit-run/adroit/internal/executor/compaction"
	"github.com/adroit-run/adroit/internal/executor/toolcall"
)

// What is implemented below internal/ and appears in what this package exports.
type (
	// A CallMode is how a model calls tools: auto, native, constrained or text.
	CallMode = toolcall.Mode
	// A CallModeFailure is a mode that did not work with a model, and why.
	CallModeFailure = toolcall.ModeFailure
	// Notes stand for turns that were left out of a conversation.
	Notes = compaction.Notes
)
