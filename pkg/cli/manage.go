package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/pipeline"
	"github.com/adroit-run/adroit/pkg/sqlite"
)

// A spot is what a job's runner must know and the job itself does not say.
// It is kept beside the job, so that another process can go on with it.
type spot struct {
	BaseURL string `json:"base_url,omitempty"`
	Trust   bool   `json:"trust_project,omitempty"`
	Record  string `json:"record,omitempty"`  // the file that keeps what models answer
	Sandbox string `json:"sandbox,omitempty"` // asked for; empty: what the configuration says
}

func (a *app) spotFile(id string) (string, error) {
	dir, err := a.jobDir(id)
	return filepath.Join(dir, "host.json"), err
}

func (a *app) saveSpot(id string, s spot) error {
	path, err := a.spotFile(id)
	if err != nil {
		return err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o600)
}

func (a *app) spot(id string) (s spot, err error) {
	path, err := a.spotFile(id)
	if err != nil {
		return s, err
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// copySpot gives a new job what an old one ran with.
func (a *app) copySpot(from, to string) error {
	s, err := a.spot(from)
	s.Record = "" // a recording is of one job
	if err != nil || s == (spot{}) {
		return err
	}
	return a.saveSpot(to, s)
}

// manager runs this machine's jobs.
func (a *app) manager(ctx context.Context) (*jobs.Manager, error) {
	db, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	lock := func(j *jobs.Job) (func(), bool, error) {
		home, err := a.jobDir(j.ID)
		if err != nil {
			return nil, false, err
		}
		return adroit.LockJob(home)
	}
	return &jobs.Manager{Store: db, Owner: sqlite.Owner(), Workflows: a.workflows(), Mux: a.mux, Lock: lock, Clean: a.clean()}, nil
}

// mux performs the steps of one job here.
func (a *app) mux(ctx context.Context, j *jobs.Job) (flow.Mux, func(), error) {
	set, err := a.tools()
	if err != nil {
		return nil, nil, err
	}
	s, err := a.spot(j.ID)
	if err != nil {
		return nil, nil, err
	}
	m, err := a.models(s.BaseURL)
	if err != nil {
		return nil, nil, err
	}
	if j.Model != "" && j.Model != pipeline.NoModel {
		if m.only, _, err = m.split(j.Model); err != nil {
			return nil, nil, err
		}
	}
	home, err := a.jobDir(j.ID)
	if err != nil {
		return nil, nil, err
	}
	if err := a.saveJob(j); err != nil {
		return nil, nil, err
	}
	conf, err := a.config()
	if err != nil {
		return nil, nil, err
	}
	driver, err := a.callings(m)
	if err != nil {
		return nil, nil, err
	}
	hide := a.redactorIn(ctx, j.Dir)
	b, err := a.openBenches(j, s.Sandbox, hide)
	if err != nil {
		return nil, nil, err
	}
	record, err := a.recorder(j, s.Record, hide, m)
	if err != nil {
		return nil, nil, errors.Join(err, b.Close())
	}
	hook := &hookRooms{dir: b.Dir, list: conf.hooksIn(a.Getenv("HOME"))}
	done := func() {
		if err := errors.Join(hook.Close(), b.Close()); err != nil {
			a.complain(fmt.Errorf("%s: closing its workspace: %w", j.ID, err))
		}
	}
	mux := executor.Serve(executor.Host{
		Record: record,
		Tools:  set, Env: b.Env, Bind: b.Bind, Fault: b.Fault, Revert: b.Revert, Worktrees: b, Fence: a.fence(s.Sandbox),
		Around: append([]func(executor.Performer) executor.Performer{executor.KeepSecrets(hide)}, conf.around(b, hook)...),
		Driver: driver,
		Blobs:  a.db.Journal(j.ID, j.Lease.Token),
		Shelf:  &executor.Shelf{Dir: filepath.Join(home, "results")},
		Rate:   a.rate(),
		Person: a.person(func(raw json.RawMessage) json.RawMessage { raw, _ = hide.Known().JSON(raw); return raw }),
		Models: func(_ context.Context, ref string) (llm.Model, string, error) { return m.open(ref) },
	})
	for kind, route := range agents.Routes(func(ctx context.Context, in agents.Input) (executor.Task, error) {
		t, _, err := a.resolveWith(ctx, in, s.Trust, m)
		return t, err
	}) {
		mux[kind] = route
	}
	maps.Copy(mux, a.pins(s.Trust, m))
	return executor.Guard(mux, hide), done, nil
}

// rate says what models cost, in USD; it is 0 for one without a price.
func (a *app) rate() func(model string, u llm.Usage) float64 {
	c, err := a.config()
	if err != nil {
		return nil
	}
	return func(model string, u llm.Usage) float64 {
		p, _ := c.Prices.Of(model)
		return p.Cost(u)
	}
}

// cost is what a run has cost, in USD, 0 if its model has no price.
func (a *app) cost(model string, f *jobs.Final) float64 {
	if f.Cost > 0 {
		return f.Cost
	}
	rate := a.rate()
	if rate == nil {
		return 0
	}
	usd := 0.0
	for _, m := range sorted(f.Used) {
		usd += rate(m, llm.Usage(f.Used[m]))
	}
	if f.Used == nil {
		usd = rate(model, llm.Usage(f.Usage))
	}
	return usd
}

// forget removes what was kept beside a job that was not created after all.
func (a *app) forget(id string) error {
	if err := a.unroot(context.Background(), id, true); err != nil {
		return err
	}
	dir, err := a.jobDir(id)
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
