package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
)

// Kind of the steps about what coordinators did before.
const memoryStep = "failures"

const (
	beginMemory = "begin"
	recallStep  = "recall"
	rememberOne = "remember"
)

// A Setup is the setup of a job's coordinators when the first began.
type Setup struct {
	Recall     bool              `json:"recall,omitempty"`     // what was done before is looked for
	Remember   bool              `json:"remember,omitempty"`   // what is done is kept
	Everywhere bool              `json:"everywhere,omitempty"` // in all of the user's projects
	Commands   bool              `json:"commands,omitempty"`   // what failed is kept as it was run
	Strategy   string            `json:"strategy,omitempty"`   // the name of those that are used
	Strategies []string          `json:"strategies,omitempty"` // that are compared
	Arms       map[string]string `json:"arms,omitempty"`       // of the comparisons that the job is part of
}

// A Memory has the dependencies of the steps about earlier failures.
type Memory struct {
	Store   func(context.Context) (problem.Store, error)
	Project string // the directory that failures belong to
	Setup   func(job string, c Choice) Setup
	Fixes   Fixes
	Hide    func(string) (hidden string, changed bool) // secrets; nil hides nothing
	Now     func() time.Time
}

// Fixes are changes of the job's work tree as diffs.
type Fixes interface {
	// Diff returns the changes of the step at path in the work tree at.
	Diff(ctx context.Context, at, path string) (string, error)
	// Fits returns why a diff cannot be made there as it stands, nil if it can.
	Fits(ctx context.Context, at, diff string) error
}

// asked is the input of a step that recalls.
type asked struct {
	Signature  string `json:"signature"`
	Text       string `json:"text"`
	At         string `json:"at,omitempty"`
	Everywhere bool   `json:"everywhere,omitempty"`
}

// lesson is the input of a step that remembers: a failure, and the step whose
// changes repaired it.
type lesson struct {
	problem.Failure
	Path string `json:"path,omitempty"`
	Tree string `json:"tree,omitempty"`
}

// mostFix bounds the diffs that are kept, in bytes.
const mostFix = 32 << 10

// Routes performs the steps about earlier failures. They do not fail a job: a memory
// that cannot be read is an empty one.
func (m Memory) Routes() flow.Mux {
	return flow.Mux{memoryStep: {
		Timeout: time.Minute, Safe: flow.Always, // what is kept twice is kept once
		Handler: func(ctx context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
			out, err := m.perform(ctx, s)
			if err != nil {
				return nil, err
			}
			return json.Marshal(out)
		},
		Describe: describeMemory,
	}}
}

func (m Memory) perform(ctx context.Context, s flow.Step) (any, error) {
	var choice Choice
	var question asked
	var failure lesson
	into := map[string]any{beginMemory: &choice, recallStep: &question, rememberOne: &failure}[s.Name]
	if err := json.Unmarshal(s.Input, into); err != nil {
		return nil, fmt.Errorf("failures: decoding input: %w", err)
	}
	switch s.Name {
	case beginMemory:
		return m.Setup(s.Job, choice), nil
	case recallStep:
		return m.recall(ctx, s.Job, question)
	}
	return struct{}{}, m.remember(ctx, s, failure)
}

func (m Memory) recall(ctx context.Context, job string, in asked) (Known, error) {
	store, err := m.Store(ctx)
	if err != nil {
		return Known{}, err
	}
	q := problem.Question{Project: m.Project, Signature: in.Signature, Text: in.Text, Now: m.Now(), Job: job}
	if in.Everywhere {
		q.Project = ""
	}
	same, similar, err := problem.Recall(ctx, store, q)
	if err != nil {
		return Known{}, err
	}
	return knownOf(same, similar, m.Project, q.Now, func(diff string) bool { return m.Fixes.Fits(ctx, in.At, diff) == nil }), nil
}

// remember keeps a failure under the path of its step: a step that is performed
// again keeps nothing twice.
func (m Memory) remember(ctx context.Context, s flow.Step, in lesson) error {
	store, err := m.Store(ctx)
	if err != nil {
		return err
	}
	f := in.Failure
	f.Key, f.Project, f.At = s.Key(), m.Project, m.Now()
	if in.Path != "" && f.Worked() {
		// A repair whose diff is not known is remembered without.
		diff, err := m.Fixes.Diff(ctx, in.Tree, in.Path)
		if err == nil && diff != "" && len(diff) <= mostFix {
			if f.Action.Fix = diff; len(f.Action.Files) == 0 {
				f.Action.Files = changedBy(diff)
			}
		}
	}
	if m.Hide != nil {
		for _, text := range []*string{&f.Message, &f.Text, &f.Action.Summary} {
			*text, _ = m.Hide(*text)
		}
		for _, exact := range []*string{&f.Action.Fix, &f.Action.Run, &f.Action.Command} {
			if _, secret := m.Hide(*exact); secret {
				*exact = "" // with its secret replaced it would be another one
			}
		}
	}
	return problem.Remember(ctx, store, f)
}

func describeMemory(s flow.Step, out json.RawMessage) (string, json.RawMessage) {
	if s.Name != recallStep {
		return "", out
	}
	var k Known
	if json.Unmarshal(out, &k) != nil || len(k.Shown) == 0 {
		return "", nil
	}
	k.Fix = ""
	data, err := json.Marshal(k)
	if err != nil {
		return "", nil
	}
	return fmt.Sprintf("%d things were done about it before", len(k.Shown)), data
}

// ignore drops the failure of a step about the memory, which is none of the job's.
func ignore(err error) error {
	if se := new(flow.StepError); errors.As(err, &se) {
		return nil
	}
	return err
}

// changedBy are the files that a diff leaves behind.
func changedBy(diff string) (out []string) {
	for line := range strings.Lines(diff) {
		name, ok := strings.CutPrefix(line, "+++ b/")
		if name = strings.TrimSpace(name); ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
