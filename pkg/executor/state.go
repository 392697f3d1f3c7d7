package executor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A State is the state of a run. It is the loop's checkpoint, so it refers to the
// transcript instead of containing it. Its groups are one object in JSON.
type State struct {
	transcript
	Produced
	Totals
	claims
	loopGuards
	securityState
	contextWindow
	Outcome *Outcome `json:"outcome,omitempty"`
	// Ended is the outcome of a run that goes on for a compaction alone, and ends
	// with it again.
	Ended     *Outcome      `json:"ended,omitempty"`
	SubAgents SubAgentUsage `json:"below,omitzero"`
	// Raised are limits that a person gave when the job was resumed, in place of
	// the task's: see [Limits.Reopener].
	Raised Limits `json:"raised,omitzero"`
	// Model is a person's choice in place of the task's model.
	Model *pickedModel `json:"model,omitempty"`
	// ChangeFailed is set when the last call that was to change a file failed.
	ChangeFailed bool `json:"change_failed,omitempty"`
	callRepair
	// Unapplied is a change that the model has only written.
	Unapplied *unapplied `json:"unapplied,omitempty"`

	feedback turnFeedback // of the answer of this turn
	// How unmet criteria are put, from the task: in plain words, and with finish
	// where the model has it.
	plain, finishOffered bool
	// noFinish is set for a model that has no tools of ours, wordless where the
	// work counts without the word that it is done.
	noFinish, signalOptional bool
	planOnly                 bool // the task's
	// toolsByArtifact names the tools that produce artifacts, for the text of unmet
	// criteria.
	toolsByArtifact map[string]string
	// confirmed is set for an answer that says that nothing has to be changed.
	confirmed bool
	// reports is set for an answer that has the output that is asked for beside changes.
	reports bool
}

// A transcript is the conversation: Head refers to the part that the model has been sent,
// New is the rest.
type transcript struct {
	Head string        `json:"head,omitempty"`
	New  []llm.Message `json:"new,omitempty"`
	// Read is the number of people's messages that were read since the last answer: those
	// that arrived during it are read before the checkpoint, and others after it.
	Read int `json:"read,omitempty"`
	// Asked is what the run has been asked beside its task since it last succeeded, or in the
	// turn of a workflow. No compaction leaves it out.
	Asked []llm.Message `json:"asked,omitempty"`
	// Early is what builds of November 2026 kept in place of Asked.
	Early *llm.Message `json:"early,omitempty"`
	// CutPrompt stands for the task's prompt, which does not fit the model.
	CutPrompt string `json:"cut_prompt,omitempty"`
	// CallsBefore is the highest number of a call in the conversation that a sub-agent
	// went on with.
	CallsBefore int `json:"calls_before,omitempty"`
}

// Produced lists the artifacts and the calls of tools.
type Produced struct {
	Artifacts map[string]Artifact `json:"artifacts,omitempty"`
	Called    map[string]int      `json:"called,omitempty"` // successful calls by tool
}

// Totals are the usage of a run so far, without its sub-agents.
type Totals struct {
	Turns    int                  `json:"turns"`
	Calls    int                  `json:"calls"` // tool calls, also failed ones
	Usage    llm.Usage            `json:"usage"`
	Cost     float64              `json:"cost_usd,omitempty"`     // of Usage, as far as the models have prices
	Reported float64              `json:"reported_usd,omitempty"` // the part of Cost that external agents reported
	ByModel  map[string]llm.Usage `json:"used,omitempty"`         // Usage by provider/model, if it was not one alone
	Fallback int                  `json:"fell,omitempty"`         // how many of Task.Fallbacks the run has gone down
	Elapsed  time.Duration        `json:"spent_ns"`
}

// claims are the model's last answers and its claims to be done.
type claims struct {
	Last    string `json:"last,omitempty"` // the model's last text
	Claim   *Claim `json:"claim,omitempty"`
	Rejects int    `json:"rejects,omitempty"` // claims that did not hold
	Empty   int    `json:"empty,omitempty"`   // answers in a row with nothing in them
	// AskedBack is the result of a claim that the model was asked about again.
	AskedBack string `json:"asked_back,omitempty"`
	// Earlier has the calls that are no evidence any more: those before a message
	// made a run go on that had ended.
	Earlier map[string]int `json:"earlier,omitempty"`
}

// loopGuards is the state of loop detection, reminders and limits of calls.
type loopGuards struct {
	Recent       []turn.Fingerprint `json:"recent,omitempty"`  // of the last turns, for loop detection
	LastReminder int                `json:"nudged,omitempty"`  // the turn of it
	WrapUp       *Outcome           `json:"landing,omitempty"` // why the run is about to stop, while the model sums up
	OfferedTools string             `json:"offered,omitempty"` // the tools offered last, to send them only when they change
	LimitedCalls map[string]int     `json:"tried,omitempty"`   // calls of tools that have a limit of calls
	Failing      turn.Failing       `json:"failing,omitempty"` // tools that fail in the same way
	Warned       []string           `json:"warned,omitempty"`  // limits that the model was warned of
	ShownDirs    []string           `json:"told,omitempty"`    // directories whose project texts the model has
}

// securityState is the state on which permission decisions about later calls depend.
type securityState struct {
	Taint tools.Taint   `json:"taint,omitempty"` // of what the run has read
	Rules []permit.Rule `json:"rules,omitempty"` // added by people's approvals
	// Mode is set by a message in place of the task's, Modes are all that messages have
	// set, in the order of the first time.
	Mode  Mode   `json:"mode,omitempty"`
	Modes []Mode `json:"modes,omitempty"`
	// Unknown has the paths of calls of which nobody knows whether they happened, by a
	// workflow or as their tool reports it, by what they ask for: the next such call is asked about.
	Unknown map[string]string `json:"unknown,omitempty"`
}

// contextWindow is the conversation's use of the context window and its compaction.
type contextWindow struct {
	Context turn.Usage  `json:"context,omitzero"`
	Notes   *turn.Notes `json:"notes,omitempty"` // in place of turns that were left out
	// Shown are digests of results in the conversation of calls that only read.
	Shown []string `json:"shown,omitempty"`
	// Compacted reports that the next request was made to fit.
	Compacted bool `json:"compacted,omitempty"`
	// Refused reports that it was so because the provider refused what there was.
	Refused bool `json:"refused,omitempty"`
}

// callRepair counts malformed tool calls and their repairs.
type callRepair struct {
	Malformed    int                `json:"slips,omitempty"`    // calls in a row that were malformed or swallowed
	ModeFailures []turn.ModeFailure `json:"setbacks,omitempty"` // modes that did not work
	Misread      int                `json:"misread,omitempty"`  // answers in a row whose calls were lost or doubtful
	RequireCall  bool               `json:"must,omitempty"`     // only a call can bring the job on
	Repairs      []string           `json:"mended,omitempty"`   // repairs of calls that the model has been shown
}

// known returns an error for what no program of this version writes into a state.
func (s *State) known() error {
	for _, o := range []*Outcome{s.Outcome, s.Ended, s.WrapUp} {
		if o == nil {
			continue
		}
		if err := stored.Unknown("the status of its outcome", o.Status, slices.Contains(outcomeStatuses, o.Status)); err != nil {
			return err
		}
	}
	for _, m := range append(slices.Clip(s.Modes), cmp.Or(s.Mode, ModeEdits)) {
		if err := stored.Unknown("its mode", string(m), m.Known()); err != nil {
			return err
		}
	}
	if c := s.Claim; c != nil {
		return stored.Unknown("the result of its claim", c.Result, slices.Contains([]string{"", NotNeeded, CannotBeDone}, c.Result))
	}
	return nil
}

// load gives the state that was saved last in r's scope: see [flow.Load].
func (s *State) load(r *flow.Run) (bool, error) {
	found, err := stored.Load(r, s)
	if s.Early != nil {
		s.Asked, s.Early = []llm.Message{*s.Early}, nil
	}
	if err == nil {
		err = s.known()
	}
	if err != nil {
		return false, fmt.Errorf("the saved state of the agent cannot be gone on with: %w", err)
	}
	return found, nil
}

// An Artifact is something a tool produced. Version counts from 1.
type Artifact struct {
	Value   json.RawMessage `json:"value"`
	Tool    string          `json:"tool"`
	Version int             `json:"version"`
}

// Value gives the artifact's value, nil if there is none.
func (s *State) Value(name string) json.RawMessage { return s.Artifacts[name].Value }

// Names lists the artifacts.
func (s *State) Names() []string { return slices.Sorted(maps.Keys(s.Artifacts)) }

func (s *State) bind(tool string, values map[string]json.RawMessage) {
	if s.Artifacts == nil && len(values) > 0 {
		s.Artifacts = map[string]Artifact{}
	}
	for name, v := range values {
		s.Artifacts[name] = Artifact{Value: v, Tool: tool, Version: s.Artifacts[name].Version + 1}
	}
}

func (s *State) addUserMessage(format string, args ...any) {
	s.New = append(s.New, llm.Message{Role: llm.User, Text: fmt.Sprintf(format, args...)})
}

// called counts a tool's successful calls since the run was last given a message.
func (s *State) called(tool string) int { return s.Called[tool] - s.Earlier[tool] }

// reminded reports whether the model gets a message in this turn already.
func (s *State) reminded() bool {
	return len(s.New) > 0 && s.New[len(s.New)-1].Role == llm.User
}

// An unapplied change stands in an answer's text in place of a call.
type unapplied struct {
	Why  string `json:"why"`
	Text string `json:"text,omitempty"` // the answer, if it may be what was asked for
}

// A pickedModel is the model that a person has chosen for the rest of a job.
type pickedModel struct {
	Model  string    `json:"model"` // provider/model
	Window int       `json:"window,omitempty"`
	Stated int       `json:"stated,omitempty"`
	Guess  bool      `json:"guess,omitempty"`
	Price  llm.Price `json:"price,omitzero"`
}

// turnFeedback is the feedback to the model on its last response. It lives for one turn:
// a run that is resumed within the turn recalls the response and its feedback.
type turnFeedback struct {
	lost    bool   // the server passed on nothing of a call
	doubt   string // why something was not taken for a call
	mode    turn.Mode
	repairs []string
	worked  bool     // a model that works on its own did
	stopped string   // the bound that ended a model at its work
	refused []string // what it asked there and was not allowed
	filter  bool     // the answer was refused or withheld
	silent  string   // what is known of an answer with nothing in it
	thought string   // what the model thought before its answer
}

// runState is the artifact that a check over the state of a run is given.
const runState = "run_state"

// A RunSnapshot is a run as a check over its state sees it.
type RunSnapshot struct {
	Prompt    string                     `json:"prompt,omitempty"`
	Last      string                     `json:"last,omitempty"`   // the model's last answer, in words
	Claim     *Claim                     `json:"claim,omitempty"`  // the model's claim to be done; nil if it made none
	Turns     int                        `json:"turns"`            // answers of the model so far
	Calls     int                        `json:"calls"`            // tool calls, also failed ones
	Called    map[string]int             `json:"called,omitempty"` // successful calls by tool
	Artifacts map[string]json.RawMessage `json:"artifacts,omitempty"`
}

// NewCheck makes a check over the state of a run out of a Go function. It is a
// tool: put it into Options.Tools of pkg/adroit, or pass it to cli.Main, and
// name it in a definition of done, as in check: NAME.
//
//	var Cited = executor.NewCheck("cited", "Check that the answer names a source.", "the answer names a source",
//		func(_ context.Context, s executor.RunSnapshot) error {
//			if !strings.Contains(s.Last, "https://") {
//				return errors.New("name the source of what you say")
//			}
//			return nil
//		})
//
// The model reads the error, so it names what is missing. f must depend
// on the snapshot alone: it runs as a step of the job, whose first result is
// kept, and it may be called from several goroutines. proves states what
// holds if f returns nil.
func NewCheck(name, description, proves string, f func(ctx context.Context, s RunSnapshot) error) tools.Tool {
	return tools.New(tools.Metadata{
		Name: name, Description: description, Category: "utility", Optionality: tools.Optional,
		Effect: tools.Pure, Uses: []string{runState}, Proves: proves,
		Examples: []tools.Example{{Args: json.RawMessage(`{}`)}},
	}, func(ctx context.Context, env *tools.Env, _ struct{}) (string, error) {
		var s RunSnapshot
		raw := env.Artifacts.Value(runState)
		if raw == nil {
			return "", fmt.Errorf("%s looks at the state of a job, and this is none", name)
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", tools.Fatal(fmt.Errorf("the state of the run: %w", err))
		}
		if err := f(ctx, s); err != nil {
			return "", err
		}
		return proves, nil
	})
}

// addRunInputs adds to what a call is given what belongs to the task and the run alone:
// no tool, input or agent can put something else in its place.
func (t *Task) addRunInputs(s *State, tool *Tool, given map[string]json.RawMessage) {
	delete(given, tools.TestCommand)
	delete(given, runState)
	if t.Test != "" && slices.Contains(tool.Uses, tools.TestCommand) {
		given[tools.TestCommand], _ = json.Marshal(t.Test) // a string always can be
	}
	if !slices.Contains(tool.Uses, runState) {
		return
	}
	now := RunSnapshot{Prompt: t.Prompt, Last: s.Last, Claim: s.Claim, Turns: s.Turns, Calls: s.Calls, Called: s.Called, Artifacts: map[string]json.RawMessage{}}
	for _, name := range s.Names() {
		now.Artifacts[name] = s.Value(name)
	}
	raw, err := json.Marshal(now)
	if err != nil {
		panic(err) // texts, numbers and JSON that the journal has taken
	}
	given[runState] = raw
}

// Parallel runs f over xs in branches, each with a scope of its own that has
// the artifacts so far and an equal share of what the task may still spend.
// Siblings of a failed branch finish, and what they return is kept; the errors
// are joined. What the branches made and spent is taken over in their order.
func Parallel[In, Out any](sc *Scope, xs []In, f func(*Scope, In) (Out, error)) ([]Out, error) {
	branches, at := sc.branches(len(xs))
	outs := make([]Out, len(xs))
	_, err := flow.Map(sc.Run, at, func(r *flow.Run, i int) (struct{}, error) {
		var err error
		branches[i].Run = r
		outs[i], err = f(branches[i], xs[i])
		return struct{}{}, err
	})
	sc.mergeBranches(branches)
	return outs, err
}

// Spent is the consumption of a run and its sub-agents.
type Spent struct {
	Turns   int
	In, Out int // tokens
	Cost    float64
	Took    time.Duration // its work, waiting for people not counted
}

// Spent returns the consumption so far.
func (s *State) Spent() Spent {
	u := s.Usage.Add(s.SubAgents.Usage)
	return Spent{s.Turns + s.SubAgents.Turns, u.In, u.Out, s.Cost + s.SubAgents.Cost, s.Elapsed}
}

// Since returns the consumption after before.
func (u Spent) Since(before Spent) Spent {
	return Spent{u.Turns - before.Turns, u.In - before.In, u.Out - before.Out, u.Cost - before.Cost, u.Took - before.Took}
}

// Race is Parallel until a branch has won, which stops the others: see [flow.Race].
func Race[In, Out any](sc *Scope, xs []In, f func(*Scope, In) (out Out, won bool, err error)) (outs []Out, winner int, err error) {
	branches, at := sc.branches(len(xs))
	outs = make([]Out, len(xs))
	_, winner, err = flow.Race(sc.Run, at, func(r *flow.Run, i int) (struct{}, bool, error) {
		var won bool
		var err error
		branches[i].Run = r
		outs[i], won, err = f(branches[i], xs[i])
		return struct{}{}, won, err
	})
	sc.mergeBranches(branches)
	return outs, winner, err
}

// branches are the scopes of n branches, and their numbers.
func (sc *Scope) branches(n int) (scopes []*Scope, at []int) {
	for i := range n {
		scopes, at = append(scopes, sc.branch(n)), append(at, i)
	}
	return scopes, at
}

// mergeBranches merges the states of branches.
func (sc *Scope) mergeBranches(branches []*Scope) {
	var longest time.Duration // branches begin at nothing
	for _, b := range branches {
		sc.State.merge(b.State)
		longest = max(longest, b.State.Elapsed)
	}
	for _, b := range branches {
		sc.State.inherit(b.State.left())
	}
	sc.State.Elapsed += longest
}

// branch is a scope for one of n branches.
func (sc *Scope) branch(n int) *Scope {
	t := *sc.Task
	t.Limits, t.part = t.remainingLimits(sc.State).share(n), ""
	s := &State{securityState: securityState{Taint: sc.State.Taint, Rules: sc.State.Rules, Unknown: maps.Clone(sc.State.Unknown)}, Produced: Produced{Artifacts: map[string]Artifact{}}}
	for name, a := range sc.State.Artifacts {
		s.Artifacts[name] = a
	}
	return &Scope{Task: &t, State: s}
}

// merge adds a branch's results and usage, but not its time: branches run at once.
func (s *State) merge(b *State) {
	for _, name := range b.Names() {
		if a := b.Artifacts[name]; a.Version > s.Artifacts[name].Version {
			s.bind(a.Tool, map[string]json.RawMessage{name: a.Value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Called)) {
		if s.Called == nil {
			s.Called = map[string]int{}
		}
		s.Called[name] += b.Called[name]
	}
	s.Turns += b.Turns
	s.Calls += b.Calls
	s.Usage = s.Usage.Add(b.Usage)
	s.Cost += b.Cost
	s.Taint |= b.Taint
	if len(b.Unknown) > 0 {
		if s.Unknown == nil {
			s.Unknown = map[string]string{}
		}
		maps.Copy(s.Unknown, b.Unknown)
	}
	s.SubAgents = s.SubAgents.add(b.SubAgents)
	if b.Last != "" {
		s.Last = b.Last
	}
	for _, m := range slices.Sorted(maps.Keys(b.ByModel)) {
		if s.ByModel == nil {
			s.ByModel = map[string]llm.Usage{}
		}
		s.ByModel[m] = s.ByModel[m].Add(b.ByModel[m])
	}
}
