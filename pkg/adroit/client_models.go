package adroit

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/llm"
)

// modelCatalog is the source of models as a catalog, or why it is none.
func (rt *Runtime) modelCatalog() (ModelCatalog, error) {
	if c, ok := rt.models.(ModelCatalog); ok {
		return c, nil
	}
	return nil, problem.Invalidf("open it with the options of pkg/config", "the models of this runtime are those of its program")
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
		return nil, problem.AsError(err)
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
		return nil, problem.AsError(err)
	}
	ref := q.Model
	if ref == "" {
		ref, err = m.Choose(ctx)
	} else {
		ref, err = m.Canonical(ref)
	}
	if err != nil {
		return nil, problem.AsError(err)
	}
	r, err := tryModel(ctx, m, ref)
	if err != nil {
		return nil, problem.AsError(problem.ModelError(err))
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
			yield(PullProgress{}, problem.AsError(err))
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
		return 0, problem.AsError(err)
	}
	if ref != "" {
		if ref, err = c.Canonical(ref); err != nil {
			return 0, problem.AsError(err)
		}
	}
	n, err := c.Forget(ref)
	return n, asError(err)
}
