package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A bench is what one job's steps work with while it runs here: its files,
// processes and ledger.
type bench struct {
	dir    string
	ledger *workspace.Ledger
	files  *workspace.Files
	exec   workspace.Exec
}

// bench opens a job's workspace.
func (a *app) bench(job *jobs.Job) (_ *bench, err error) {
	home, err := a.jobDir(job.ID)
	if err != nil {
		return nil, err
	}
	b := &bench{dir: job.Dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	if b.ledger, err = workspace.OpenLedger(filepath.Join(home, "ledger")); err != nil {
		return nil, err
	}
	if b.files, err = workspace.Open(job.Dir, b.ledger); err != nil {
		return nil, fmt.Errorf("the job's directory: %w", err)
	}
	b.exec = workspace.NewExec(b.files.Dir(), filepath.Join(home, "logs"), b.ledger)
	return b, nil
}

// close kills what still runs and releases the files.
func (b *bench) close() error {
	var errs []error
	if b.exec != nil {
		errs = append(errs, b.exec.Close())
	}
	if b.files != nil {
		errs = append(errs, b.files.Close())
	}
	if b.ledger != nil {
		errs = append(errs, b.ledger.Close())
	}
	return errors.Join(errs...)
}

// host is what executor.Serve needs to perform the steps of one job.
func (b *bench) host(set *tools.Set, m *models, blobs flow.Blobs) executor.Host {
	return executor.Host{
		Tools: set,
		Blobs: blobs,
		Models: func(_ context.Context, ref string) (llm.Model, string, error) {
			return m.open(ref)
		},
		Env: func(context.Context, string) (*tools.Env, error) {
			return &tools.Env{Files: b.files, Exec: b.exec, HTTP: &http.Client{}}, nil
		},
		Bind: b.bind,
	}
}

// maxDiff bounds the artifact "diff" in bytes: it travels with the job's
// state. adroit jobs diff shows all of it.
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
	// An empty diff is news only after a change that took back the others.
	if diff == "" && (res.Failed || t.Needs&(tools.Write|tools.Shell) == 0) {
		return nil
	}
	if len(diff) > maxDiff {
		diff = strings.ToValidUTF8(diff[:maxDiff], "") + fmt.Sprintf("\n(%d bytes in all; the rest is left out here)\n", len(diff))
	}
	v, err := json.Marshal(diff)
	if err != nil {
		return err
	}
	kept := map[string]json.RawMessage{}
	for name, old := range res.Artifacts {
		kept[name] = old
	}
	kept["diff"] = v
	res.Artifacts = kept
	return nil
}
