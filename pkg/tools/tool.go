// Package tools defines what a model may do, and keeps track of it.
//
// A [Tool] is a struct of data plus one func. [New] makes one of a typed
// function and infers its JSON Schema:
//
//	type Input struct {
//		Path string `json:"path" jsonschema:"description=File to count, relative to the workspace."`
//	}
//
//	var Tool = tools.New(tools.Metadata{
//		Name: "word_count", Description: "Count the words of a file.", Category: "utility",
//		Needs: tools.Read, Produces: []string{"words"},
//	}, func(ctx context.Context, env *tools.Env, in Input) (int, error) {
//		b, err := env.Files.ReadFile(in.Path)
//		return len(strings.Fields(string(b))), err
//	})
//
// Tools live in a [Registry], which may change; a run works on a [Set], which
// does not. The package is not a permission system: it reports what a tool
// needs, the executor decides whether it gets it.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// Caps are the capabilities that a tool needs. They alone decide what an Env grants,
// whether a person is asked for approval, and whether a call may be repeated after a
// crash.
type Caps uint16

const (
	Read    Caps = 1 << iota // read the workspace
	Write                    // change the workspace
	Exec                     // run fixed programs: git, test runners
	Shell                    // run any command the model writes
	Net                      // talk to the network
	Think                    // ask a model
	Publish                  // make something visible to others
)

// An Effect describes what performing a call twice does. The zero value derives it
// from Needs: pure if the tool needs to read or to think and nothing else, unsafe
// otherwise. A tool that declares neither needs nor an effect is unsafe.
type Effect string

const (
	Pure       Effect = "pure"       // no effect; may be repeated at will
	Idempotent Effect = "idempotent" // repeating it with the same Env.Key has no further effect
	Unsafe     Effect = "unsafe"     // never repeated; an interrupted call is reported as such
)

// Known reports whether e is a defined value.
func (e Effect) Known() bool { return slices.Contains([]Effect{Pure, Idempotent, Unsafe}, e) }

// Optionality reports how a tool is presented to the model.
type Optionality string

const (
	Required    Optionality = "required"    // the task is expected to need it; the zero value means this
	Optional    Optionality = "optional"    // useful at times
	Conditional Optionality = "conditional" // only when Metadata.When holds
)

// Known reports whether o is a defined value.
func (o Optionality) Known() bool {
	return slices.Contains([]Optionality{Required, Optional, Conditional}, o)
}

// An Example is one call and its purpose. Args must satisfy the schema; that is checked
// when the tool is registered.
type Example struct {
	Note string          `json:"note,omitempty"`
	Args json.RawMessage `json:"args"`
}

// Metadata is all that is known of a tool before it is called. Every field is
// used: see docs/tools.md for where.
type Metadata struct {
	Name        string        `json:"name"`               // snake_case, at most 64 bytes
	Description string        `json:"description"`        // for the model: what it does and returns
	Category    string        `json:"category,omitempty"` // code, vcs, build, research, content, publish, utility, or another word
	Optionality Optionality   `json:"optionality,omitempty"`
	When        string        `json:"when,omitempty"` // Conditional: in words, for the model
	UsageHint   string        `json:"usage_hint,omitempty"`
	Examples    []Example     `json:"examples,omitempty"`
	Needs       Caps          `json:"needs,omitempty"`
	Effect      Effect        `json:"effect,omitempty"`
	RunsCode    bool          `json:"runs_code,omitempty"` // it runs code of the workspace: tests, build scripts, plug-ins of a linter
	Asks        string        `json:"asks,omitempty"`      // why a person is asked about each call unless a rule allows it: it may change something that its needs do not show
	Outside     bool          `json:"outside,omitempty"`   // it runs its command outside the sandbox, so that a person is asked about each call unless a rule allows it
	Online      bool          `json:"online,omitempty"`    // it gives its command the network of this machine, so that a person is asked about each call unless commands have it anyway or a rule that names the tool allows it
	Offline     bool          `json:"offline,omitempty"`   // of a server's tool: its needs have the network since its results are of strangers, and the server has none
	Requires    []string      `json:"requires,omitempty"`  // host capabilities: git, ffmpeg
	Secrets     []string      `json:"secrets,omitempty"`   // environment variables with what it needs and nobody may see: Env.Secrets has their values, which are replaced wherever a job keeps or shows text
	Consumes    []string      `json:"consumes,omitempty"`  // artifacts that must exist before it is of use
	Uses        []string      `json:"uses,omitempty"`      // artifacts it is given where they exist, and does without where not; test_command is the configured command line of the project's tests
	Produces    []string      `json:"produces,omitempty"`  // artifacts its results are bound to
	Timeout     time.Duration `json:"timeout,omitempty"`   // of one call; zero means two minutes
	Paths       []string      `json:"paths,omitempty"`     // arguments that are paths in the workspace, or lists of them: what rules about paths judge
	Command     string        `json:"command,omitempty"`   // the argument that is shell text: what rules about commands judge
	Source      string        `json:"source,omitempty"`    // of a server's tool: project or client, by the server's origin; empty for the operator's

	// Proves reports what a successful call proves, as in "the project's tests pass".
	// Only a tool that sets it is accepted as a check by agents lint: the success
	// of any other proves nothing.
	Proves string `json:"proves,omitempty"`
	// ProvesWith names arguments of which a check must give at least one, for a
	// tool that does something else, or fails, without them. Empty: none is needed.
	ProvesWith []string `json:"proves_with,omitempty"`
}

// Taints returns the taint of every result of the tool, by the tool's needs: files, the
// output of programs and the network are written by others.
func (m Metadata) Taints() Taint {
	if m.Needs&(Read|Exec|Shell|Net) != 0 {
		return Untrusted
	}
	return 0
}

// An ArtifactReader reads what the run has produced so far. Value returns nil
// if there is no such artifact.
type ArtifactReader interface {
	Value(name string) json.RawMessage
	Names() []string
}

// An Env is everything a tool may touch during one call. A nil capability was
// not granted. It must not be kept after the call returns.
type Env struct {
	Job       string           // the job's id
	Key       string           // identifies this call for ever, also when it is repeated: an idempotency key
	Files     *workspace.Files // Read or Write
	Exec      process.Exec     // Exec or Shell
	Code      Codebase         // Read and Exec; nil also where there are no language servers
	HTTP      *http.Client     // Net
	Model     llm.Model        // Think
	Artifacts ArtifactReader   // never nil
	// Secrets has the values of Metadata.Secrets by their names, but for those that are not
	// set: then the call is refused before it is made.
	Secrets map[string]string
	// Result returns in full a result that the model was shown in part, by the id
	// shown with it; fs.ErrNotExist for an unknown one. Nil if nothing is kept.
	Result         func(id string) (string, error)
	MaxResultBytes int        // bytes of a result that the model is shown at once; 0 for no bound
	MaxValueBytes  int        // bytes of an output in Result.Value; 0 where no program asks
	PlainText      bool       // files are shown without the numbers of their lines, for an agent that edits them by their text
	Emit           event.Sink // never nil; progress events
	// Approved has, by path, the SHA-256 of the files that have been checked for this
	// call, or that a person has approved, in hexadecimal; nil if there was neither.
	// A tool that publishes a file compares what it reads.
	Approved map[string]string
}

// A Result is a call's result as the model sees it. Failed means that the tool could not
// do what was asked; Text then helps the model to try again. Artifacts are bound by the
// names in Metadata.Produces.
type Result struct {
	Text      string                     `json:"text"`
	Failed    bool                       `json:"failed,omitempty"`
	Summary   string                     `json:"summary,omitempty"` // one line for people; Text's first line if empty
	Artifacts map[string]json.RawMessage `json:"artifacts,omitempty"`
	// Images are shown to models that see. Text has the String of each, which is all
	// that other models learn of it.
	Images []llm.Image `json:"images,omitempty"`
	Taint  Taint       `json:"taint,omitempty"` // what the text carries beyond Metadata.Taints
	// Value is the result for programs, as JSON of a type of the tool's own, such as
	// [Command], or as a string. No program reads Text, which is for models.
	Value json.RawMessage `json:"value,omitempty"`
	// Diff is a unified diff of the files that the call has changed, for people: its arguments do
	// not have what was there, or in which lines.
	Diff string `json:"diff,omitempty"`
	// Page is set if Text shows some lines of many, and another call can show others.
	Page *Page `json:"page,omitempty"`
	// Inconclusive is set by a tool that is a check if the call neither passed nor
	// failed. Failed is set with it, and Summary reports why in a line.
	Inconclusive Inconclusive `json:"inconclusive,omitempty"`
	// Undecided is set if nobody knows whether the call has had its effect. A person is
	// asked before the same call is made again.
	Undecided bool `json:"undecided,omitempty"`
	// Refused is set if the call was not made: its arguments do not fit, or it may not be.
	// Failed is set with it.
	Refused bool `json:"refused,omitempty"`
}

// A Page is the range of a longer text's lines that a result shows. The same call with
// the argument from shows those from there on, and no more of them than the argument
// lines.
type Page struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Head is the number of lines of Result.Text before the first line of the page.
	Head int `json:"head,omitempty"`
}

// Inconclusive reports why a check has neither passed nor failed.
type Inconclusive string

const (
	NothingToCheck Inconclusive = "nothing"     // the workspace has nothing of the kind, such as no tests
	CannotCheck    Inconclusive = "unavailable" // it cannot be run here: its program is missing, or it was not permitted
)

// Known reports whether i is a defined value.
func (i Inconclusive) Known() bool {
	return slices.Contains([]Inconclusive{NothingToCheck, CannotCheck}, i)
}

// A Precondition is the call of a check that must have passed before another call
// is made.
type Precondition struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// A Tool is something a model can call. Call's args have been validated
// against Input. An error from Call is the operator's problem and may be
// retried; what the model should read is a Result with Failed set.
type Tool struct {
	Metadata
	Input *schema.Schema // of the arguments; free of $ref, compiled
	Call  func(ctx context.Context, env *Env, args json.RawMessage) (Result, error)
	// Touches names the paths that a call is about where they are not arguments
	// of their own, as in a patch. The args have been validated. May be nil.
	Touches func(args json.RawMessage) []string
	// Missing returns in a line what the workspace lacks for a call to check
	// anything, as in "not tested: no tests found", "" if nothing is lacking. It
	// is asked before a job begins; it reads Env.Files and Env.Artifacts and runs
	// nothing. May be nil.
	Missing func(env *Env, args json.RawMessage) string
	// Before names the checks that must have passed on exactly what a call makes
	// visible to others before it is made: the artifacts that it is given, and the files
	// that it touches. The args have been validated. May be nil.
	Before func(args json.RawMessage) []Precondition
	// Preview returns what a call would change, such as a diff, for the person
	// who approves it, "" if that is not known. It changes nothing. May be nil.
	Preview func(env *Env, args json.RawMessage) string

	ships bool // and is checked by the tests of pkg/parts
}

// inputErr returns what is wrong with the schema of t's arguments, nil if it
// has none.
func (t Tool) inputErr() error {
	if t.Input == nil {
		return nil
	}
	return t.Input.Err()
}

// A Bundle is a group of tools that belong together, as offered by a tool
// package.
type Bundle struct {
	Name        string
	Description string
	Required    []Tool // presented as required
	Optional    []Tool // presented as optional, unless they are conditional
}

// Tools returns the bundle's tools, each presented as its list says.
func (b Bundle) Tools() []Tool {
	out := make([]Tool, 0, len(b.Required)+len(b.Optional))
	for _, t := range b.Required {
		t.Optionality, t.When = Required, ""
		out = append(out, t)
	}
	for _, t := range b.Optional {
		if t.Optionality != Conditional {
			t.Optionality = Optional
		}
		out = append(out, t)
	}
	return out
}

// A Codebase gives access to language servers' knowledge of the workspace's files, as
// they are on disk now. Names of files are relative to the workspace; a file outside of
// it has an absolute name. Implementations are safe for concurrent use and bound the time
// of each call. An error that wraps ErrNoServer means that no server handles the file:
// the tool must do without.
type Codebase interface {
	// Diagnose reports the faults of files. Files without a server are left out
	// unless none has one.
	Diagnose(ctx context.Context, files ...string) ([]Diagnostic, error)
	// Symbols lists what a file declares, in the order of its lines.
	Symbols(ctx context.Context, file string) ([]Symbol, error)
	// Definition reports where the word at a spot is declared.
	Definition(ctx context.Context, at Location) ([]Location, error)
	// References reports where what the word at a spot means is used, its
	// declaration included.
	References(ctx context.Context, at Location) ([]Location, error)
}

// ErrNoServer means that there is no language server for a file, or not any more. An
// error that wraps it reports the reason.
var ErrNoServer = errors.New("no language server")

// A Location is a place in a file. Lines and columns count from 1, columns in
// bytes.
type Location struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// A Symbol is a declaration. Depth is 0 at the top of a file, 1 inside of
// that, and so on.
type Symbol struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // func, method, type, var, const, field, …
	Location
	End   int `json:"end,omitempty"` // last line, 0 if it is not known
	Depth int `json:"depth,omitempty"`
}

// A Diagnostic is something wrong in a file.
type Diagnostic struct {
	Location
	Severity string `json:"severity"` // error or warning
	Message  string `json:"message"`
	Source   string `json:"source,omitempty"` // compiler, pyright, …
}

// String is the diagnostic as compilers write it.
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", d.File, d.Line, d.Severity, d.Message)
}

// Safe returns the effect that holds for m: the declared one, or the one its
// needs imply.
func (m Metadata) Safe() Effect {
	switch {
	case m.Effect != "":
		return m.Effect
	case m.Needs != 0 && m.Needs&^(Read|Think) == 0:
		return Pure
	}
	return Unsafe
}

// Only returns a copy of e with nothing but what c grants. Job, Key, Artifacts,
// Result, MaxResultBytes and Emit are always there. A nil e is an Env that grants nothing.
func (e *Env) Only(c Caps) *Env {
	var cut Env
	if e != nil {
		cut = *e
	}
	if c&(Read|Write) == 0 {
		cut.Files = nil
	}
	if c&(Exec|Shell) == 0 {
		cut.Exec = nil
	}
	if c&Read == 0 || c&(Exec|Shell) == 0 {
		cut.Code = nil // servers read everything and are commands
	}
	if c&Net == 0 {
		cut.HTTP = nil
	}
	if c&Think == 0 {
		cut.Model = nil
	}
	if cut.Artifacts == nil {
		cut.Artifacts = noArtifacts{}
	}
	if cut.Emit == nil {
		cut.Emit = func(event.Event) {}
	}
	return &cut
}

// Progress shows the call's activity to live watchers, in a line. It is not kept and may
// be lost.
func (e *Env) Progress(text string) {
	if e.Emit != nil {
		e.Emit(event.Event{Kind: event.Delta, Text: text + "\n"})
	}
}

// lacks returns the part of c for which e has nothing to give.
func (e *Env) lacks(c Caps) Caps {
	var missing Caps
	if e.Files == nil {
		missing |= c & (Read | Write)
	}
	if e.Exec == nil {
		missing |= c & (Exec | Shell)
	}
	if e.HTTP == nil {
		missing |= c & Net
	}
	if e.Model == nil {
		missing |= c & Think
	}
	return missing
}

type noArtifacts struct{}

func (noArtifacts) Value(string) json.RawMessage { return nil }
func (noArtifacts) Names() []string              { return nil }

// Types of internal packages that appear in the API of tools.
type (
	// A CommandRunner runs the commands of a tool; it is Env.Exec.
	CommandRunner = process.Exec
	// A Command is a command to run.
	Command = process.Cmd
	// A CommandOutput is the result of a command, or its output so far.
	CommandOutput = process.Output
	// A Process is a command that was started.
	Process = process.Process
	// A Schema is a JSON Schema with the rules to check values; it is Tool.Input.
	Schema = schema.Schema
)

// Prose returns m with its description and usage hint taken from md, the text
// of the file beside a tool's code: the first paragraph describes, the rest is
// the hint. Prompts are reviewed as prose, so they live in files.
func (m Metadata) Prose(md string) Metadata {
	first, rest, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(md, "\r\n", "\n")), "\n\n")
	m.Description = strings.Join(strings.Fields(first), " ")
	m.UsageHint = strings.Join(strings.Fields(rest), " ")
	return m
}

// ProseIn is [Metadata.Prose] of the file NAME.md in a folder, as a rule an embed.FS with the files
// of a package's tools. It panics without that file.
func (m Metadata) ProseIn(folder fs.ReadFileFS) Metadata {
	md, err := folder.ReadFile(m.Name + ".md")
	if err != nil {
		panic(err)
	}
	return m.Prose(string(md))
}

// A Taint describes what a result carries into a conversation. A job that has seen
// both kinds may be talked into sending the one where the other wants it: what
// leaves the machine then needs a person. So does publishing again where an
// earlier publication is unconfirmed.
type Taint uint8

const (
	Untrusted   Taint = 1 << iota // text that others wrote: files, output of programs, the network
	Secret                        // something that was to stay here, even if it was blotted out
	Unconfirmed                   // it is not known whether something was published
)

func taintNames() []string { return []string{"untrusted", "secret", "unconfirmed"} }

// Has reports whether t includes all of what.
func (t Taint) Has(what Taint) bool { return t&what == what }

// Names lists what t is made of.
func (t Taint) Names() []string {
	names := []string{}
	for i, name := range taintNames() {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (t Taint) String() string {
	if t == 0 {
		return "none"
	}
	return strings.Join(t.Names(), ",")
}

// MarshalJSON writes t as a list of names.
func (t Taint) MarshalJSON() ([]byte, error) { return json.Marshal(t.Names()) }

// UnmarshalJSON reads a list of names. An unknown one is an error: a taint
// that is lost is worse than a job that stops.
func (t *Taint) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return fmt.Errorf("a taint is a list of names such as [\"untrusted\"]: %w", err)
	}
	var got Taint
next:
	for _, name := range names {
		for i, known := range taintNames() {
			if name == known {
				got |= 1 << i
				continue next
			}
		}
		return fmt.Errorf("unknown taint %q; there are %s", name, strings.Join(taintNames(), ", "))
	}
	*t = got
	return nil
}

// LookupSecrets returns the values of the tool's Secrets by their names, as lookup has them,
// and the names of those that are not set or empty.
func (m Metadata) LookupSecrets(lookup func(string) (string, bool)) (values map[string]string, unset []string) {
	for _, name := range m.Secrets {
		v, _ := lookup(name)
		if v == "" {
			unset = append(unset, name)
			continue
		}
		if values == nil {
			values = map[string]string{}
		}
		values[name] = v
	}
	return values, unset
}
