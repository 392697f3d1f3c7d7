package adroit

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/apierr"
	"github.com/adroit-run/adroit/pkg/llm"
)

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
	// Examine reports which models can be asked here.
	Examine(ctx context.Context) []Finding
}

// A ModelInfo is a model, or a provider of models.
type ModelInfo struct {
	Model string `json:"model"`
	Size  int64  `json:"size,omitempty"` // bytes
	ModelCapabilities
	Note string `json:"note,omitempty"`
}

// ModelCapabilities are what a model can do, and what adroit will ask of it.
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

// A ModelState is how a model serves a request.
type ModelState struct {
	Given    int    `json:"given,omitempty"`     // the window it was loaded with, 0 if that is not known
	NoEffort string `json:"no_effort,omitempty"` // why requests leave out how much it thinks
}

// A ModelReport is what came of asking a model for a word.
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

// PullProgress is how far a pull is.
type PullProgress struct {
	Status string `json:"status"` // the server's word for what it does
	Digest string `json:"digest,omitempty"`
	Done   int64  `json:"completed,omitempty"` // bytes of the part with this digest
	Total  int64  `json:"total,omitempty"`
}

// modelCatalog is the source of models as a catalog, or why it is none.
func (rt *Runtime) modelCatalog() (ModelCatalog, error) {
	if c, ok := rt.models.(ModelCatalog); ok {
		return c, nil
	}
	return nil, apierr.Invalidf("open it with the options of pkg/config", "the models of this runtime are those of its program")
}

// Models implements [Models].
func (rt *Runtime) Models(ctx context.Context) ([]ModelInfo, error) {
	list := []ModelInfo{}
	c, err := rt.modelCatalog()
	if err == nil {
		list, err = c.List(ctx)
		return list, asError(err)
	}
	for _, provider := range slices.Sorted(maps.Keys(rt.o.Models)) {
		list = append(list, ModelInfo{Model: provider + "/NAME", Note: "of this program"})
	}
	return list, nil
}

// ModelState implements [Models].
func (rt *Runtime) ModelState(ctx context.Context, q ModelQuery) (*ModelState, error) {
	m, err := rt.models.At(q.BaseURL, "")
	if err != nil {
		return nil, apierr.AsError(err)
	}
	s := new(ModelState)
	if c, ok := m.(ModelCatalog); ok {
		s.NoEffort = c.NoEffort(ctx, q.Model)
		if q.Window > 0 {
			s.Given = c.Load(ctx, q.Model, q.Window)
		}
	}
	return s, nil
}

// CheckModel implements [Models].
func (rt *Runtime) CheckModel(ctx context.Context, q ModelQuery) (*ModelReport, error) {
	m, err := rt.models.At(q.BaseURL, "")
	if err != nil {
		return nil, apierr.AsError(err)
	}
	ref := q.Model
	if ref == "" {
		ref, err = m.Choose(ctx)
	} else {
		ref, err = m.Canonical(ref)
	}
	if err != nil {
		return nil, apierr.AsError(err)
	}
	r, err := tryModel(ctx, m, ref)
	if err != nil {
		return nil, apierr.AsError(apierr.ModelError(err))
	}
	return r, nil
}

func tryModel(ctx context.Context, m ModelSource, ref string) (*ModelReport, error) {
	window, err := m.Window(ctx, ref)
	if err != nil {
		return nil, err
	}
	model, name, err := m.Open(ref)
	if err != nil {
		return nil, err
	}
	r := &ModelReport{Model: ref, Window: window}
	c, knows := m.(ModelCatalog)
	if knows {
		if r.Drive, r.Calling, err = c.Describe(ctx, ref); err != nil {
			return nil, err
		}
	}
	start := time.Now()
	answer, err := model.Generate(ctx, &llm.Request{
		Model:    name,
		Messages: []llm.Message{{Role: llm.User, Text: "Answer with the single word: ready"}},
		Options:  llm.Options{Window: window, MaxTokens: 512},
	}, nil)
	if err != nil {
		return nil, err
	}
	r.Answer, r.Usage, r.Notes, r.TookMS = strings.TrimSpace(answer.Message.Text), answer.Usage, answer.Notes, time.Since(start).Milliseconds()
	if knows {
		r.Given = c.Load(ctx, ref, window)
	}
	return r, nil
}

// PullModel implements [Models].
func (rt *Runtime) PullModel(ctx context.Context, p ModelPull) iter.Seq2[PullProgress, error] {
	return func(yield func(PullProgress, error) bool) {
		c, err := rt.modelCatalog()
		if err != nil {
			yield(PullProgress{}, apierr.AsError(err))
			return
		}
		for progress, err := range c.Pull(ctx, p) {
			if !yield(progress, asError(err)) {
				return
			}
		}
	}
}

// ForgetModel implements [Models].
func (rt *Runtime) ForgetModel(_ context.Context, ref string) (int, error) {
	c, err := rt.modelCatalog()
	if err != nil {
		return 0, apierr.AsError(err)
	}
	if ref != "" {
		if ref, err = c.Canonical(ref); err != nil {
			return 0, apierr.AsError(err)
		}
	}
	n, err := c.Forget(ref)
	return n, asError(err)
}
