package executor

import (
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

// A State is what a run knows so far. It is the loop's checkpoint, so it
// holds the transcript by reference. Its groups are one object in JSON.
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
	// Model is what a person has picked in place of the task's.
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
	noFinish, wordless bool
	planOnly           bool // the task's
	// makers name the tools that produce artifacts, for what is unmet.
	makers map[string]string
	// confirmed is set for an answer that says that nothing has to be changed.
	confirmed bool
	// reports is set for an answer that has the output that is asked for beside changes.
	reports bool
}

// A transcript is the conversation: Head names what the model has been sent,
// New is what it has not.
type transcript struct {
	Head string        `json:"head,omitempty"`
	New  []llm.Message `json:"new,omitempty"`
	// Read is how many messages of people were read since the last answer: those that came
	// during it are read before the checkpoint, and others behind it.
	Read int `json:"read,omitempty"`
	// CallsBefore is the highest number of a call in the conversation that a sub-agent
	// went on with.
	CallsBefore int `json:"calls_before,omitempty"`
}

// Produced is what tools have made.
type Produced struct {
	Artifacts map[string]Artifact `json:"artifacts,omitempty"`
	Called    map[string]int      `json:"called,omitempty"` // successful calls by tool
}

// Totals are what a run has used so far, sub-agents not counted.
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

// claims are what the model has answered about being done.
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

// loopGuards are what loop detection, reminders and limits of calls remember.
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

// securityState is what decides about later calls.
type securityState struct {
	Taint tools.Taint   `json:"taint,omitempty"` // of what the run has read
	Rules []permit.Rule `json:"rules,omitempty"` // added by the people who approved
	// Unknown has the paths of calls of which nobody knows whether they happened, by a
	// workflow or as their tool reports it, by what they ask for: the next such call is asked about.
	Unknown map[string]string `json:"unknown,omitempty"`
}

// contextWindow is how the conversation fits the context window.
type contextWindow struct {
	Context turn.Usage  `json:"context,omitzero"`
	Notes   *turn.Notes `json:"notes,omitempty"` // in place of turns that were left out
	// Shown are digests of what the conversation has of calls that only read.
	Shown []string `json:"shown,omitempty"`
	// Compacted reports that the next request was made to fit.
	Compacted bool `json:"compacted,omitempty"`
	// Refused reports that it was so because the provider refused what there was.
	Refused bool `json:"refused,omitempty"`
}

// callRepair is what went wrong with the form of the model's tool calls.
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
	if c := s.Claim; c != nil {
		return stored.Unknown("the result of its claim", c.Result, slices.Contains([]string{"", NotNeeded, CannotBeDone}, c.Result))
	}
	return nil
}

// load gives the state that was saved last in r's scope: see [flow.Load].
func (s *State) load(r *flow.Run) (bool, error) {
	found, err := stored.Load(r, s)
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

// called is how often a tool was called with success since the run was last given
// something to do.
func (s *State) called(tool string) int { return s.Called[tool] - s.Earlier[tool] }

// reminded reports whether the model gets a message in this turn already.
func (s *State) reminded() bool {
	return len(s.New) > 0 && s.New[len(s.New)-1].Role == llm.User
}

// An unapplied change is what an answer has in its text in place of a call.
type unapplied struct {
	Why  string `json:"why"`
	Text string `json:"text,omitempty"` // the answer, if it may be what was asked for
}

// A pickedModel is what a person has picked for the rest of a job.
type pickedModel struct {
	Model  string    `json:"model"` // provider/model
	Window int       `json:"window,omitempty"`
	Stated int       `json:"stated,omitempty"`
	Guess  bool      `json:"guess,omitempty"`
	Price  llm.Price `json:"price,omitzero"`
}

// turnFeedback is what reading an answer brought to light that the model should know.
// It lives for one turn: a run that is resumed within the turn recalls the
// answer and its feedback.
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
