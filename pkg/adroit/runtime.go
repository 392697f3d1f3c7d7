package adroit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/host/book"
	"github.com/adroit-run/adroit/internal/host/catalog"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/guard/trust"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Runtime runs jobs in this process. It is safe for concurrent use. Close
// it: that interrupts what still runs, and waits.
type Runtime struct {
	o      Options
	models ModelSource
	trust  *trust.Store // nil: nothing was decided about any workspace
	// tools are checked when they are needed: that takes longer than listing jobs.
	tools   func() (*tools.Set, error)
	catalog *catalog.Catalog
	home    string // has a directory for each job
	clean   func() error
	bare    bool           // jobs have no workspace: see Ask
	forgets bool           // the store is the memory of this Runtime
	failed  problem.Memory // what coordinators remember without a database

	ctx     context.Context
	stop    context.CancelCauseFunc
	opening sync.Mutex // of the store; before mu
	mu      sync.Mutex
	jobs    *jobs.Manager // see Manager
	earlier []jobs.Store  // that were for reading only
	shut    bool
	runs    sync.WaitGroup
	held    chan struct{}   // places of jobs that run or are queued here; nil is no bound
	here    map[string]*job // that run here, or ended here without a record of it, by id
	resumed []resumedRemoval
	live    eventBroadcast
	unknown sync.Map // what was warned of already: see warnUnknown
	waits   sync.Map // when it was last warned of by what it waits for
	// memory has what jobs and people noted for later jobs.
	memory *book.Keeper
}

// A resumedRemoval is the removal of a job that this process has taken over.
type resumedRemoval struct {
	job *jobs.Job
	err error
}

// A job is a run that this process has begun.
type job struct {
	rt      *Runtime
	id      string
	stop    context.CancelCauseFunc
	claimed chan struct{} // closed when its lease is taken
	done    chan struct{}
	job     *jobs.Job // after done
	cause   error     // after done: why it was interrupted, if it was
	err     error     // after done: not how the job went, but that it could not be run
}

func (j *job) ended() bool { return closed(j.done) }

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// wait waits for a channel to be closed, or for the end of the run, whose error
// it returns then.
func (j *job) wait(ctx context.Context, until <-chan struct{}) error {
	select {
	case <-until:
	case <-j.done:
		if !closed(until) {
			return j.err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

func (j *job) ID() string { return j.id }

// data is the directory that keeps jobs.
func (rt *Runtime) data() string { return filepath.Dir(rt.home) }

// warn reports something to the operator that is no reason to stop.
func (rt *Runtime) warn(format string, args ...any) {
	if rt.o.Warn != nil {
		rt.o.Warn(fmt.Sprintf(format, args...))
	}
}

// warnWaiting warns that what no run of a job reports by itself waits for the host: many
// jobs wait for the same, so once in a while.
func (rt *Runtime) warnWaiting(what exhaustion.Resource, err error) {
	now := time.Now()
	before, _ := rt.waits.Swap(what, now)
	if last, ok := before.(time.Time); !ok || now.Sub(last) > time.Minute {
		rt.warn("waiting: %s: %v", what.Words(), err)
	}
}

// warnOfWait warns of an event that says that a run waits for the host: who follows the log
// does not see it before there is room for it.
func (rt *Runtime) warnOfWait(ev event.Event) {
	if ev.Kind != event.Note || len(ev.Data) == 0 || ev.Path != "" {
		return
	}
	var d struct{ Waiting exhaustion.Resource }
	if json.Unmarshal(ev.Data, &d) == nil && d.Waiting != "" {
		rt.warnWaiting(d.Waiting, errors.New(ev.Error))
	}
}

// trusts decides about a workspace.
func (rt *Runtime) trusts(dir string, all bool) (catalog.Decision, error) {
	return catalog.Decide(rt.trust, rt.data(), dir, all)
}

// confine is how the commands of jobs run.
func (rt *Runtime) confine() process.SandboxOptions {
	c := rt.o.Sandbox
	c.Hide = append(slices.Clone(c.Hide), rt.home)
	if rt.o.Data != "" {
		c.Hide = append(c.Hide, rt.o.Data)
		if c.Cache == "" {
			c.Cache = filepath.Join(rt.o.Data, "cache")
		}
	}
	return c
}
