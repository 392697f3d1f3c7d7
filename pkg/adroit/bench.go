package adroit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A bench is what the steps of one job work on while it runs here.
type bench struct {
	ledger *workspace.Ledger
	files  *workspace.Files
	exec   *workspace.Runner
}

// mux opens the workspace of a job and serves its steps.
func (rt *Runtime) mux(_ context.Context, j *jobs.Job) (flow.Mux, func(), error) {
	home := filepath.Join(rt.home, j.ID)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, nil, err
	}
	var b bench
	var err error
	if b.ledger, err = workspace.OpenLedger(filepath.Join(home, "ledger")); err != nil {
		return nil, nil, err
	}
	if b.files, err = workspace.Open(j.Dir, b.ledger); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("the workspace: %w", err), b.ledger.Close())
	}
	b.exec = workspace.NewExec(b.files.Dir(), filepath.Join(home, "logs"), b.ledger)
	m := executor.Serve(executor.Host{
		Models: rt.model,
		Tools:  rt.tools,
		Blobs:  rt.Jobs.Store.Journal(j.ID, j.Lease.Token),
		Bind:   b.bind,
		Env: func(context.Context, string) (*tools.Env, error) {
			return &tools.Env{Files: b.files, Exec: b.exec, HTTP: http.DefaultClient}, nil
		},
	})
	maps.Copy(m, agents.Routes(rt.resolve))
	return m, func() {
		// Nothing depends on what these say: all writes are synced already.
		_ = errors.Join(b.exec.Close(), b.files.Close(), b.ledger.Close())
	}, nil
}

// maxDiff bounds the artifact "diff" in bytes: it travels with the state.
const maxDiff = 64 << 10

// bind makes what the job has changed so far its artifact "diff".
func (b *bench) bind(ctx context.Context, _ string, t tools.Tool, res *tools.Result) error {
	if t.Needs&(tools.Write|tools.Exec|tools.Shell) == 0 {
		return nil
	}
	diff, err := b.ledger.Diff(ctx, b.files.Dir(), false)
	if err != nil {
		return fmt.Errorf("diff of what the job changed: %w", err)
	}
	if diff == "" && (res.Failed || t.Needs&(tools.Write|tools.Shell) == 0) {
		return nil
	}
	if len(diff) > maxDiff {
		diff = strings.ToValidUTF8(diff[:maxDiff], "") + fmt.Sprintf("\n(%d bytes in all)\n", len(diff))
	}
	v, err := json.Marshal(diff)
	if err != nil {
		return err
	}
	res.Artifacts = maps.Clone(res.Artifacts)
	if res.Artifacts == nil {
		res.Artifacts = map[string]json.RawMessage{}
	}
	res.Artifacts["diff"] = v
	return nil
}
