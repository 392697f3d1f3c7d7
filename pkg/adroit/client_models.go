package adroit

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/host/doctor"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/agents"
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
	if err := rt.may(ctx, ScopeRead); err != nil {
		return nil, err
	}
	list := []ModelInfo{}
	c, err := rt.modelCatalog()
	if err == nil {
		list, err = c.List(ctx)
		return list, asError(err)
	}
	for _, provider := range slices.Sorted(maps.Keys(rt.o.Models)) {
		list = append(list, ModelInfo{Model: provider + "/NAME", Note: "of this program", Lacks: LacksName})
	}
	return list, nil
}

// ModelState implements [Models].
func (rt *Runtime) ModelState(ctx context.Context, q ModelQuery) (*ModelState, error) {
	if err := rt.may(ctx, ScopeRead); err != nil {
		return nil, err
	}
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
	if err := rt.may(ctx, ScopeRun); err != nil {
		return nil, err
	}
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
		if closed := rt.may(ctx, ScopeAdmin); closed != nil {
			err = closed
		}
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
func (rt *Runtime) ForgetModel(ctx context.Context, ref string) (int, error) {
	if err := rt.may(ctx, ScopeAdmin); err != nil {
		return 0, err
	}
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

// ParseAgent reads an agent file. name is the file's name, for problems, and gives
// the agent its name unless the front matter does. The agent is nil if the front
// matter cannot be read at all; with other errors among the problems it is as much
// as was understood. [Runtime.Agent] runs it; whether its tools exist is found then.
func ParseAgent(name string, src []byte) (*agents.DynamicAgent, agents.Problems) {
	return agents.Parse(name, src)
}

// Doctor implements [Machine].
func (rt *Runtime) Doctor(ctx context.Context, q DoctorQuery) ([]Finding, error) {
	if err := rt.may(ctx, ScopeAdmin, q.Dir); err != nil {
		return nil, err
	}
	d := rt.o.doctor(q)
	d.Jobs, d.Tools, d.TestCommand, d.RecordGone = rt.data(), rt.tools, rt.testCommandIn, rt.recordGone
	d.Agents = func(ctx context.Context) (int, error) {
		l, err := rt.Agents(ctx, Scope{})
		if err == nil {
			err = l.Problems.Err()
		}
		if err != nil {
			return 0, err
		}
		return len(l.Items), nil
	}
	d.Models = func(ctx context.Context) []Finding {
		c, err := rt.modelCatalog()
		if err != nil {
			return nil
		}
		return c.Examine(ctx, q.Model)
	}
	found := d.Examine(ctx)
	if err := rt.o.apart(cmp.Or(q.Dir, rt.o.Dir)); err != nil { // as every job here would be refused
		found = append(found, Finding{Name: "directory", Status: doctor.Broken, What: err.Error(), Do: problem.Hint(err)})
	}
	return found, nil
}

// Diagnose is Doctor for options that no runtime could be opened with; failed
// is the reason.
func Diagnose(ctx context.Context, o Options, failed error, q DoctorQuery) []Finding {
	d := o.doctor(q)
	d.Failed, d.Tools = failed, o.tools
	return d.Examine(ctx)
}

// doctor returns the doctor for the options.
func (o *Options) doctor(q DoctorQuery) *doctor.Doctor {
	d := &doctor.Doctor{Query: q, Data: o.Data, ConfigFile: o.ConfigFile, CheckStore: o.CheckStore, Servers: o.Servers, Sandbox: o.Sandbox, Rules: o.Defaults.Rules, Parts: o.Examine}
	if names := o.Names; names != nil {
		d.Deny = names.Deny
	}
	return d
}

type (
	// A Finding is one thing that was looked at on a machine.
	Finding = doctor.Finding
	// A FindingStatus is a finding's severity.
	FindingStatus = doctor.Status
	// A DoctorQuery selects Doctor's examinations.
	DoctorQuery = doctor.Query
)

// Statuses of findings.
const (
	Fine    = doctor.Fine
	Lacking = doctor.Lacking // something that only some jobs need
	Broken  = doctor.Broken  // no job can run
	Note    = doctor.Note
)
