package turn

import (
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An AgentGrant is the permission of a model that works on its own for one answer: see
// [extagent.Model]. It follows from the task, so that the step has all of it.
type AgentGrant struct {
	Rights extagent.Access `json:"may,omitzero"`
	Bounds extagent.Limits `json:"bounds,omitzero"`
	// Needs are the combined needs of the task's tools, Permit the rules that decide: both are for
	// models that ask before they act.
	Needs  tools.Caps         `json:"needs,omitempty"`
	Permit *PermissionContext `json:"permit,omitempty"`
}

const (
	AgentTimeout = 2 * time.Hour
)

// A ModelRequest is the input of a model step: the messages that the model has not been sent yet,
// and a reference to the earlier ones. Requests form a chain by digest, so that each message is
// stored once however long the run gets.
type ModelRequest struct {
	Head        string          `json:"head,omitempty"` // digest of the previous Ask
	New         []llm.Message   `json:"new"`
	Model       string          `json:"model"`
	Tools       []llm.ToolSpec  `json:"tools,omitempty"` // in place of those so far; nil leaves them
	HideTools   bool            `json:"bare,omitempty"`  // offer no tools this time
	RequireCall bool            `json:"must,omitempty"`  // an answer without a call would be refused
	Compacted   int             `json:"gone,omitempty"`  // answers that a compaction has taken out
	Options     llm.Options     `json:"options,omitzero"`
	Output      json.RawMessage `json:"output,omitempty"`
	// At is the worktree that a model that works itself is to work in; empty is
	// the job's directory.
	At string `json:"at,omitempty"`
	Chain
	// CallMode is the mode that is set for the job, ModeFailures the earlier failures in it.
	CallMode     Mode          `json:"calling,omitempty"`
	ModeFailures []ModeFailure `json:"setbacks,omitempty"`
	// Grant is for a model that works on its own.
	Grant *AgentGrant `json:"stay,omitempty"`
}

// A ModelResponse is the output of a model step.
type ModelResponse struct {
	llm.Response
	Took time.Duration `json:"took_ns"`
	// ModelCosts were paid besides it, for a hedge.
	ModelCosts []ModelCost `json:"spent,omitempty"`
	Ref        string      `json:"-"` // the provider/model that was asked
	// CallMode is the mode of the request, ModeReason explains why it is not the first one, and
	// Malformed what was wrong with the form of the answer.
	CallMode   Mode   `json:"calling,omitempty"`
	ModeReason string `json:"why,omitempty"`
	Malformed  string `json:"slip,omitempty"`
	// Changed and Artifacts are the results of a model that works on its own: the files that the
	// ledger saw change, and the artifacts that the host binds.
	Changed   []string                   `json:"changed,omitempty"`
	Artifacts map[string]json.RawMessage `json:"artifacts,omitempty"`
	Grant     *AgentGrant                `json:"-"` // that it was asked with
}

// A ModelCost is a cost within a step besides that of the step's answer: of a tool's requests, or
// of a hedge.
type ModelCost struct {
	Model    string    `json:"model"` // provider/model
	Usage    llm.Usage `json:"usage"`
	Requests int       `json:"requests"`
	// Estimated reports that the provider did not report the usage: it is estimated from the text.
	Estimated bool `json:"guessed,omitempty"`
}

// A Budget bounds the size of one request to the model. It is pinned with the task; a task without
// one sends the whole conversation and fails when the provider reports that it is too long.
type Budget struct {
	// Window is the model's context window in tokens, for models whose Options.Window is not set.
	// Zero is unknown: only the provider's refusal leads to compaction.
	Window int `json:"window,omitempty"`
	// Guess reports that Window is one, made from the model's name.
	Guess bool `json:"guess,omitempty"`
	// Result bounds the bytes of one result that the model is shown at once. Zero is a share of
	// the window, at most 16 KB; -1 is no bound.
	Result int `json:"result,omitempty"`
	// Cheap is the provider/model for summaries; empty: the task's own.
	Cheap string `json:"cheap,omitempty"`
}

// An Interruption selects the treatment of a call during which the process died, so that nobody
// knows whether it happened.
type Interruption int

const (
	// Recognized makes a command again that is known to build, test, lint or format, and
	// has a person decide about all others; the zero value.
	Recognized Interruption = iota
	// Again makes the call again: whoever chooses it knows that this does no harm.
	Again
	// AskPerson has a person decide.
	AskPerson
	// Reported reports the interruption to the agent, which finds out what happened.
	Reported
)

const (
	// UncertainChanges is the artifact that lists paths which changed while a command ran, and may
	// be somebody else's work. They are not evidence for "diff".
	UncertainChanges = "uncertain_changes"

	// DiffOmitted is the artifact with the number of bytes that "diff" lacks of the whole
	// diff; there is none if it lacks nothing.
	DiffOmitted = "diff_omitted"

	// MessageSignal is the name of the signal whose value is an executor.Message.
	MessageSignal = "message"
)

// ChangesSignal is the name of the message signals about files for the agent that has the step
// at path directly below the step that began it: "message@" and the path of that step, which is
// empty for the agent of the job.
func ChangesSignal(path string) string {
	return MessageSignal + "@" + path[:max(0, strings.LastIndexByte(path, '.'))]
}

// Bounds of executor.SpawnLimits that set none.
const (
	SpawnDepth  = 1
	SpawnFanOut = 8
	SpawnTotal  = 50
)

// Unexplained is the code of a model step whose request was refused for an unknown reason.
// Outcomes report the code of a bad request instead.
const Unexplained = "model.unexplained"

// TooManyBytes is the code of a model step whose request was too long in bytes. Outcomes report
// the code of a request that is too long instead.
const TooManyBytes = "model.bytes"

// Revision is the revision of workflow behaviour that new tasks are pinned to.
//
//   - 0: a tool that would be refused is left out of the next request.
//   - 1: every request of a task offers the same tools in the same order, which
//     keeps the beginning of the prompt in the server's cache; what may not be
//     called now is refused.
//   - 2: code decides about what fails in pipelines, validations and tests before an
//     agent is asked, see pkg/workflows/coordinator.
//   - 3: agents that change files see them without the numbers of their lines, and a
//     task is not finished in an answer in which a change has failed.
//   - 4: finished work is done without the word for it, and what needs no change,
//     cannot be done or is a plan has an end of its own. A tool that
//     declares neither needs nor an effect is not called beside others.
//   - 5: what failed in a pipeline or under a coordinator is recognised by what programs
//     report of themselves, and not by what a test printed.
//   - 6: workflows read the values of results, and values go whole into the arguments
//     of tools.
//   - 7: what a failed command printed is its step's output as that of another is, and
//     values go whole into what agents and pipelines are given by name. A file that an
//     answer has in a fence in place of a call is named, with the tool that writes it.
//   - 8: a tool's name is read without the namespace and tokens that some templates put
//     around it, and finished work ends done also if the server loses each last word.
//     A value that was replaced as a secret goes into no argument of a pipeline's tool.
//     A repair that was not all goes on in the same conversation, and a turn's output
//     may stand beside changes of files. Transcripts have what models thought. A
//     worker's first message does not forbid the change that its last is checked for.
//   - 9: small results of an answer leave what they do not need to large ones, and what was
//     read once stands once in a conversation. What was compacted is in a checkpoint before
//     the model is asked. What is unmet names the tool that makes it. A plan of one part is
//     done at once by its worker, and its review begins with the diff.
//   - 10: a diff that was cut has the bytes that it lacks beside it as a value, and
//     commitments read that. A change that stands in an answer's text alone is asked about
//     where a task may be done without one, and a refusal ends the run.
//   - 11: what has the rest of a result, and which files a part of a plan is about, are
//     values of the conversation and of an input, and are not read out of texts.
//     What was compacted after a provider's refusal is in a checkpoint, too.
//     A pipeline's command whose time is over names the step's timeout.
//     A step of a pipeline that a person has denied is not tried again.
//     What failed is recognised without the colours that its output has spelled out.
//     An answer with a call in its text that was not run is no end of success.
//     A signal of an agent's own reports which files are not as it left them.
//     After an interruption each attempt is asked about until one succeeds.
//     What a run was asked and has not done stays when its conversation is compacted.
const Revision = 11

// ChangesByPath is the first revision whose agents learn of files by [ChangesSignal].
const ChangesByPath = 11

// MaxValue bounds, in bytes, the part of an output that the value of a result contains.
const MaxValue = 1 << 20

// SharedRoom is the first revision whose results share the room of an answer.
const SharedRoom = 9

// CutDiffs is the first revision whose jobs have DiffOmitted.
const CutDiffs = 10

// NamesWhole is the first revision whose messages have the ID of the whole text that they show in
// part, and whose workers are given the files of a part.
const NamesWhole = 11

// TypedResults is the first revision whose workflows read values of results.
const TypedResults = 6

// OwnTimeouts is the first revision whose pipelines name the timeout of a step whose command
// was stopped, and not the argument of the tool.
const OwnTimeouts = 11

// FinalDenials is the first revision whose pipelines do not try a step again that a person
// has denied.
const FinalDenials = 11

// WholeValues is the first revision whose pipelines read the values of failed calls
// and cut values only in prompts.
const WholeValues = 7

// GenuineArguments is the first revision whose pipelines call no tool with the replacement of a
// secret.
const GenuineArguments = 8

// Repeatable reports whether a call of a tool may be made twice.
func Repeatable(t tools.Metadata) bool {
	return t.Effect == tools.Pure || t.Effect == tools.Idempotent
}

// A Project has the instructions in a workspace's directories. It is pinned with the task: the
// model is shown the text for a directory when a call first touches it, in the same words however
// often the run is interrupted.
type Project struct {
	Dir   string    `json:"dir,omitempty"` // the workspace, absolute, as calls may name it
	Texts []DirText `json:"says,omitempty"`
}

// DirText is a text that applies to a directory of the workspace and everything below.
type DirText struct {
	Dir  string `json:"dir"` // relative, with slashes
	Text string `json:"text"`
}

// Unseen returns the texts that apply to the paths that a call with these arguments touches, the
// outermost first, and adds their directories to seen: no text is shown twice.
func (p *Project) Unseen(args json.RawMessage, seen []string) (texts string, now []string) {
	var v any
	if p == nil || len(p.Texts) == 0 || json.Unmarshal(args, &v) != nil {
		return "", seen
	}
	touched := touchedPaths(p.Dir, v, 0)
	for _, t := range p.Texts {
		below := func(name string) bool { return name == t.Dir || strings.HasPrefix(name, t.Dir+"/") }
		if !slices.Contains(seen, t.Dir) && slices.ContainsFunc(touched, below) {
			seen = append(seen, t.Dir)
			texts += "\n\n" + t.Text
		}
	}
	return texts, seen
}

// maxNest bounds how deep arguments are searched for paths.
const maxNest = 4

// touchedPaths finds likely names of files in a call's arguments, relative to the workspace dir.
func touchedPaths(dir string, v any, depth int) []string {
	if depth > maxNest {
		return nil
	}
	var out []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, touchedPaths(dir, e, depth+1)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains([]string{"path", "paths", "file", "files", "dir", "from", "to"}, key) {
				out = append(out, fileNames(dir, v[key])...)
			}
			out = append(out, touchedPaths(dir, v[key], depth+1)...)
		}
	}
	return out
}

func fileNames(dir string, v any) []string {
	switch v := v.(type) {
	case string:
		name := filepath.ToSlash(v)
		if dir != "" && path.IsAbs(name) {
			name = strings.TrimPrefix(name, strings.TrimSuffix(filepath.ToSlash(dir), "/")+"/")
		}
		return []string{path.Clean(name)}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, fileNames(dir, s)...)
			}
		}
		return out
	}
	return nil
}

// Names of the steps of kind [WorktreeStep].
const (
	AddWorktree  = "add"
	JoinWorktree = "join"
	DropWorktree = "drop"
)

// A Tree is the input of a step about a worktree, and its output.
type Tree struct {
	Name string `json:"name"`
	Of   string `json:"of,omitempty"`
	Dir  string `json:"dir,omitempty"`

	Files   int      `json:"files,omitempty"`      // that were copied
	Left    []string `json:"not_copied,omitempty"` // the first of what was not: ignored, secret, in another repository
	Omitted int      `json:"omitted,omitempty"`    // how many that are
}
