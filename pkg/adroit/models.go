package adroit

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
)

// A ModelSource opens models by reference, which is provider/model or a role,
// and knows what an operator has said of them. It is safe for concurrent use.
type ModelSource interface {
	// At is the source for a job: baseURL, if it is set, is the address of the
	// provider of model, and of no other.
	At(baseURL, model string) (ModelSource, error)
	// Open returns the model and the name it goes by at its provider.
	Open(ref string) (llm.Model, string, error)
	// Check returns what is wrong with a reference, nil if nothing is.
	Check(ref string) error
	// Canonical is a reference as a job keeps it.
	Canonical(ref string) (string, error)
	// Choose returns the model of requests and agents that name none.
	Choose(ctx context.Context) (string, error)
	// Route is the model that a reference stands for, with its fallbacks.
	Route(ctx context.Context, ref string) (executor.Route, error)
	// Window is the context window to ask for, 0 where the provider decides. It
	// fails if the provider is sure not to have the model.
	Window(ctx context.Context, ref string) (int, error)
	// Stated is the context window that a model has at a provider that Window leaves it
	// to, and the most it can have there, in tokens; 0 where its server does not state it.
	Stated(ctx context.Context, ref string) (tokens, most int)
	// Roles lists the roles that are set up.
	Roles() []string
	// Unset reports whether ref is a role that what ships names and that nobody
	// has set up: the model of the request does its work.
	Unset(ref string) bool
	// Think names the model for what tools ask; empty is the job's own.
	Think() string
	// Driver knows how models call tools; nil tries all ways.
	Driver() CallModes
	// Recording returns the recording that ref names, nil for any other model.
	Recording(ref string) (*script.Recording, error)
}

// A ModelCatalog is a [ModelSource] that also knows which models there are.
type ModelCatalog interface {
	ModelSource
	List(ctx context.Context) ([]ModelInfo, error)
	// Describe returns what a model can do, nil where its provider does not report
	// it, and in words how it calls tools.
	Describe(ctx context.Context, ref string) (*ModelCapabilities, []string, error)
	// Load loads a model with a window and returns the one it got, 0 if that is
	// not known.
	Load(ctx context.Context, ref string, window int) int
	// NoEffort returns why a request to a model leaves out how much it thinks, ""
	// if it does not or if that is not known.
	NoEffort(ctx context.Context, ref string) string
	// NoImages returns why a model is sure to take no images, "" if it takes them or
	// if that is not known.
	NoImages(ctx context.Context, ref string) string
	Pull(ctx context.Context, p ModelPull) iter.Seq2[PullProgress, error]
	// Forget forgets which ways to call tools did not work with a model, or with
	// all of them for "", and returns how many there were.
	Forget(ref string) (int, error)
	// Examine reports which models can be asked here. model is the default of requests
	// that name none; empty: the configured one.
	Examine(ctx context.Context, model string) []Finding
}

// A ModelInfo is a model, or a provider of models.
type ModelInfo struct {
	Model string `json:"model"`
	Size  int64  `json:"size,omitempty"` // bytes
	ModelCapabilities
	Note string `json:"note,omitempty"`
	// Lacks is the reason why it cannot be used as named, one of the Lacks constants;
	// empty: none is known.
	Lacks string `json:"lacks,omitempty"`
}

// What a model may lack.
const (
	LacksServer  = "server"  // it does not answer
	LacksModel   = "model"   // the server has none yet
	LacksKey     = "key"     // there is none for the provider
	LacksName    = "name"    // which of the provider's models
	LacksProgram = "program" // it is not installed, or cannot be used
)

// ModelCapabilities are a model's abilities, and what adroit will ask of it.
type ModelCapabilities struct {
	Tools        string   `json:"tools,omitempty"` // the way that comes first: native, constrained or text
	Can          []string `json:"can,omitempty"`
	Context      int      `json:"context,omitempty"` // what it was made for, in tokens
	Window       int      `json:"window,omitempty"`  // what adroit will ask for, in tokens
	Family       string   `json:"family,omitempty"`  // how it writes calls, if that is known
	Parameters   string   `json:"parameters,omitempty"`
	Quantisation string   `json:"quantisation,omitempty"`
}

// A ModelQuery names a model, at another address of its provider if BaseURL is set.
type ModelQuery struct {
	Model   string `json:"model,omitempty"` // empty: that of requests that name none
	BaseURL string `json:"base_url,omitempty"`
	Window  int    `json:"window,omitempty"` // for ModelState: to load it with
}

// A ModelState describes a model that serves a request.
type ModelState struct {
	Given    int    `json:"given,omitempty"`     // the window it was loaded with, 0 if that is not known
	NoEffort string `json:"no_effort,omitempty"` // why requests leave out how much it thinks
}

// A ModelReport is the result of asking a model for a word.
type ModelReport struct {
	Model  string             `json:"model"`
	Answer string             `json:"answer"`
	Usage  llm.Usage          `json:"usage"`
	TookMS int64              `json:"took_ms"`
	Window int                `json:"window,omitempty"` // asked for, in tokens
	Given  int                `json:"given,omitempty"`  // what the server loaded the model with
	Notes  []string           `json:"notes,omitempty"`
	Drive  *ModelCapabilities `json:"drive,omitempty"`
	// Calling describes how it calls tools, and the dialect of its server.
	Calling []string `json:"calling,omitempty"`
}

// A ModelPull asks for a model to be fetched.
type ModelPull struct {
	Model    string `json:"model"`
	Insecure bool   `json:"insecure,omitempty"` // permit a registry without TLS
}

// PullProgress is the progress of a pull.
type PullProgress struct {
	Status string `json:"status"` // the server's word for what it does
	Digest string `json:"digest,omitempty"`
	Done   int64  `json:"completed,omitempty"` // bytes of the part with this digest
	Total  int64  `json:"total,omitempty"`
}

// shippedRoles are the roles that agents and pipelines which ship name.
var shippedRoles = []string{"default", "cheap", "strong"}

// modelMap is the source of models that a program has made itself.
type modelMap struct {
	models map[string]llm.Model
	model  string
}

var _ ModelSource = modelMap{}

func (m modelMap) At(string, string) (ModelSource, error)      { return m, nil }
func (m modelMap) Driver() CallModes                           { return nil }
func (m modelMap) Recording(string) (*script.Recording, error) { return nil, nil }
func (m modelMap) Window(context.Context, string) (int, error) { return 0, nil }
func (m modelMap) Stated(context.Context, string) (int, int)   { return 0, 0 }
func (m modelMap) Roles() []string                             { return nil }
func (m modelMap) Unset(ref string) bool                       { return slices.Contains(shippedRoles, ref) }
func (m modelMap) Think() string                               { return "" }
func (m modelMap) Canonical(ref string) (string, error)        { return ref, nil }

func (m modelMap) Choose(context.Context) (string, error) {
	if m.model == "" {
		return "", problem.Invalidf("name one of Options.Models, as provider/model", "no model is named, neither by the request nor by the agent nor by Options.Model")
	}
	return m.model, nil
}

func (m modelMap) Route(_ context.Context, ref string) (executor.Route, error) {
	return executor.Route{Model: ref}, nil
}

func (m modelMap) Check(ref string) error {
	if m.Unset(ref) {
		return nil
	}
	_, _, err := m.Open(ref)
	return err
}

func (m modelMap) Open(ref string) (llm.Model, string, error) {
	provider, name, ok := strings.Cut(ref, "/")
	model := m.models[provider]
	if !ok || model == nil {
		return nil, "", problem.Refuse(&llm.Error{Kind: llm.NoModel, Message: fmt.Sprintf("there is no model %s", ref)}, "name one as provider/model, with a provider in Options.Models")
	}
	return model, name, nil
}
