package flow

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Step is one effect as a value. It describes the effect and does not perform it. (Job,
// Path) identifies it for ever: it is primary key, idempotency key and span id. Paths are
// positional: 3.1.0 is the first effect of branch 1 of the fourth effect.
type Step struct {
	Job   string          `json:"job"`
	Path  string          `json:"path"`
	Kind  string          `json:"kind"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// Keep asks the journal to keep Input in the blob store under
	// [Step.Digest], so that later steps can refer to it.
	Keep bool `json:"keep,omitempty"`
	// Within bounds the time of performing the step, beside its route; zero means no
	// bound. It does not identify the step: see [Within].
	Within time.Duration `json:"within_ns,omitempty"`

	// Repeatable means that performing the step twice does no harm: its intent
	// need not be durable before it is performed.
	Repeatable bool `json:"-"`

	bound   *bound
	accept  func(value json.RawMessage) error // of an awaiting step; nil takes any value
	polling bool                              // an await of this process for one signal, its name, that was sent already
	// What Sum and Digest say, where the engine or the workflow has computed it:
	// several ask in each step, and nobody changes a step that was asked for.
	sum, digest string
}

// Key identifies the step across engines and restarts.
func (s Step) Key() string { return s.Job + "/" + s.Path }

// Sum returns the digest of the step's kind, name and input. A journal with another sum
// at the same path belongs to another workflow.
func (s Step) Sum() string {
	if s.sum != "" {
		return s.sum
	}
	b := make([]byte, 0, 256)
	b = append(append(append(append(b, s.Kind...), 0), s.Name...), 0)
	h := sha256.New()
	h.Write(b)
	h.Write(s.Input)
	return hex.EncodeToString(h.Sum(b[:0]))
}

// Digest names the input: its SHA-256 in hexadecimal.
func (s Step) Digest() string {
	if s.digest != "" {
		return s.digest
	}
	return Digest(s.Input)
}

// engineOwn reports whether engines perform s without any effect.
func (s Step) engineOwn() bool {
	role := roles[s.Kind]
	return role == roleMark || role == rolePause
}

func (s Step) record(deadline time.Time) *Record {
	return &Record{Job: s.Job, Path: s.Path, Kind: s.Kind, Name: s.Name, Sum: s.Sum(), Done: true, Deadline: deadline, NoEffect: s.engineOwn()}
}

// timeoutFailure returns the failure of a step for which there was no time left.
func (s Step) timeoutFailure() *Failure {
	return &Failure{Code: TimedOut, Message: "timed out: the step's timeout of " + s.Within.String() + " is over"}
}

// A Record is the journal's entry for a step. Deadline is the time at which a sleep or an
// await ends; it is fixed when the step first begins.
type Record struct {
	Job      string          `json:"job"`
	Path     string          `json:"path"`
	Kind     string          `json:"kind"`
	Name     string          `json:"name,omitempty"`
	Sum      string          `json:"sum"`
	Done     bool            `json:"done"`
	Deadline time.Time       `json:"deadline,omitzero"`
	Output   json.RawMessage `json:"output,omitempty"`
	Failure  *Failure        `json:"failure,omitempty"`

	// NoEffect means that nothing was performed: the outcome need not be durable
	// before the run goes on.
	NoEffect bool `json:"-"`
}

func (r *Record) result() (json.RawMessage, error) {
	if r.Failure != nil {
		return nil, &StepError{r.Path, r.Kind, r.Name, *r.Failure}
	}
	return r.Output, nil
}

// A State is a workflow's state at a point where everything before may be
// forgotten. Next is the position at which the workflow goes on.
type State struct {
	Next  int             `json:"next"`
	Value json.RawMessage `json:"value"`
}

// A DivergedError reports that a workflow no longer asks for what it asked
// for before. The job is blocked for a person, never failed.
type DivergedError struct {
	Recorded Record
	Asked    Step
}

func (e *DivergedError) Error() string {
	if e.Recorded.Kind == e.Asked.Kind && e.Recorded.Name == e.Asked.Name {
		return fmt.Sprintf("step %s: the journal has %s %q with another input than the workflow asks for now",
			e.Asked.Path, e.Recorded.Kind, e.Recorded.Name)
	}
	return fmt.Sprintf("step %s: the journal has %s %q, the workflow asks for %s %q",
		e.Asked.Path, e.Recorded.Kind, e.Recorded.Name, e.Asked.Kind, e.Asked.Name)
}

// A ParkedError reports that a run waits for a signal and must not wait
// here. The job goes on when it is resumed after the signal was sent.
type ParkedError struct {
	Path    string
	Signals []string
	About   json.RawMessage
}

func (e *ParkedError) Error() string {
	return fmt.Sprintf("step %s waits for a signal: %v", e.Path, e.Signals)
}

// Compare orders paths of steps as the steps begin: 1.9 is before 1.10, and 1 before
// 1.0.
func Compare(p, q string) int {
	for p != "" && q != "" {
		var x, y string
		x, p, _ = strings.Cut(p, ".")
		y, q, _ = strings.Cut(q, ".")
		m, _ := strconv.Atoi(x)
		n, _ := strconv.Atoi(y)
		if c := cmp.Compare(m, n); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(p), len(q))
}

// Digest names content: the SHA-256 of b in hexadecimal.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

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
