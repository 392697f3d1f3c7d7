package flow

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// A Journal remembers the steps of runs. Its writes become durable in the order
// in which they were made: the intent of a step before Begin returns, unless the
// step is Repeatable; its outcome before Finish returns, unless it had NoEffect;
// a checkpoint, and those two, with the next write or a moment later.
// All methods are safe for concurrent use. A journal
// whose lease was lost refuses everything.
type Journal interface {
	Blobs
	// Begin records the intent to perform s, unless the journal knows the
	// step already, and returns what it knew: nil for a new step. If s.Keep
	// is set the input is put into the blob store in the same transaction.
	Begin(ctx context.Context, s Step, deadline time.Time) (*Record, error)
	// Finish records the outcome of a step that was begun. Finishing a step
	// twice keeps the first outcome.
	Finish(ctx context.Context, rec *Record) error
	// Receive takes the oldest unconsumed signal of s.Job that has one of the
	// names and records it as the outcome of s, in one transaction. It
	// returns nil if there is none. A signal that s does not accept is
	// discarded, and the error is s.Accepts'.
	Receive(ctx context.Context, s Step, names []string) (*Record, error)
	// Save replaces the checkpoint of scope and forgets all steps and
	// checkpoints whose path begins with scope, in one transaction.
	Save(ctx context.Context, job, scope string, st State) error
	// Load returns the checkpoint of scope, nil if there is none.
	Load(ctx context.Context, job, scope string) (*State, error)
}

// Blobs is a content-addressed store. It has the inputs of the steps that asked
// for it with Keep.
type Blobs interface {
	// Blob returns ErrNoBlob if it does not have digest.
	Blob(ctx context.Context, digest string) (json.RawMessage, error)
}

// ErrNoBlob reports that the blob store does not have a digest.
var ErrNoBlob = errors.New("no such blob")
