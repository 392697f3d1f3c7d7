// Package jobdir manages the files of one job on this machine: its directory with lock,
// configuration and worktrees, and the opened workspace, with files, commands, ledger and language
// servers, in which its steps work.
package jobdir

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/overlay"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/guard/netguard"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A Workspace has the files, processes and ledger of one job while its steps run here. It is safe
// for concurrent use.
type Workspace struct {
	ledger *ledger.Ledger
	files  *workspace.Files
	exec   *process.Runner
	code   *lsp.Servers // nil until StartServers
	http   *http.Client
	doubts atomic.Bool // there were uncertain changes
	omits  string      // a file that is there once the job had a diff that lacked something
}

// OpenWorkspace opens the workspace dir of a job. The job's changes and output are kept below
// home, which is made if it does not exist. Commands run without a sandbox unless an option sets
// one: see [process.WithSandbox].
func OpenWorkspace(dir, home string, opts ...process.Option) (*Workspace, error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	ledger, err := ledger.Open(filepath.Join(home, "ledger"), overlay.Recover)
	if err != nil {
		return nil, err
	}
	if err := ledger.Lock(); err != nil { // now, rather than in the middle of the job
		return nil, err
	}
	if err := ledger.Recover(context.Background()); err != nil {
		return nil, errors.Join(err, ledger.Close())
	}
	files, err := workspace.Open(dir, ledger)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the job's directory: %w", err), ledger.Close())
	}
	b := &Workspace{ledger: ledger, files: files, exec: process.New(files.Dir(), filepath.Join(home, "logs"), ledger, opts...), omits: filepath.Join(home, "diff-omitted"), http: netguard.Guard{}.Client()}
	return b, nil
}

// SetNetwork sets how far tools reach into the network; without it they reach public
// addresses. It must be called before anything runs.
func (b *Workspace) SetNetwork(g netguard.Guard) {
	b.http.CloseIdleConnections()
	b.http = g.Client()
}

// SetSecrets makes r redact what commands leave behind: their logs and the shown part of their
// output. It must be called before any command runs.
func (b *Workspace) SetSecrets(r *secret.Redactor) { b.exec.Redactor = r }

// SetDenyList changes the list of names that no tool may touch, as the operator wants
// it. It must be called before anything runs.
func (b *Workspace) SetDenyList(n *workspace.DenyList) {
	b.files, b.exec.DenyList = b.files.WithDenyList(n), n
	b.ledger.SetDenyList(n)
}

// maxSettle bounds the time for recording what servers changed after their last call.
const maxSettle = time.Minute

// Close records what servers have changed since their last call, kills running commands and releases the files.
func (b *Workspace) Close() error {
	var code error
	if b.code != nil {
		code = b.code.Close()
	}
	b.http.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), maxSettle)
	defer cancel()
	_, _, settled := b.ledger.Settle(ctx)
	return errors.Join(code, settled, b.exec.Close(), b.files.Close(), b.ledger.Close())
}

// Env returns the whole environment of tools.
func (b *Workspace) Env(context.Context, string, string) (*tools.Env, error) {
	if err := b.files.Present(); err != nil {
		// No call could do anything: one clear end instead of as many failures
		// as the model has turns.
		return nil, &flow.Failure{Code: turn.Gone, Message: err.Error()}
	}
	env := &tools.Env{Files: b.files, Exec: b.exec, HTTP: b.http}
	if b.code != nil {
		env.Code = b.code
	}
	return env, nil
}

// Fault returns the storage failure that calls have met, nil for none.
func (b *Workspace) Fault(_, _ string) error { return b.ledger.Fault() }

// Revert reverts the changes of an interrupted step to files.
func (b *Workspace) Revert(_, _, path string) (bool, error) { return b.files.At(path).Revert() }

// mostUncertain bounds the paths of uncertain changes that are listed.
const mostUncertain = 50

// maxDiff bounds the artifact "diff" in bytes: it travels with the job's
// state. The ledger has all of it.
const maxDiff = 64 << 10

// Bind makes the job's changes so far its artifact "diff", without changes during a command that
// may be somebody else's: their paths are the artifact [turn.UncertainChanges].
func (b *Workspace) Bind(ctx context.Context, _, _ string, t tools.Tool, res *tools.Result) error {
	if t.Needs&(tools.Write|tools.Exec|tools.Shell) == 0 {
		return nil
	}
	v, omitted, empty, err := b.diff(ctx)
	if err != nil {
		return err
	}
	found := map[string]json.RawMessage{}
	// An empty diff is news only after a change that took back the others.
	if !empty || !res.Failed && t.Needs&(tools.Write|tools.Shell) != 0 {
		found["diff"] = v
		if omitted != nil {
			found[turn.DiffOmitted] = omitted
		}
	}
	if err := b.uncertain(ctx, found); err != nil || len(found) == 0 {
		return err
	}
	all := maps.Clone(res.Artifacts)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, found)
	res.Artifacts = all
	return nil
}

// uncertain puts the paths of uncertain changes among the artifacts, if there
// are any or were.
func (b *Workspace) uncertain(ctx context.Context, found map[string]json.RawMessage) error {
	all, err := b.ledger.All().IncludeReported().Changes(ctx)
	if err != nil {
		return err
	}
	paths := []string{}
	for _, c := range all {
		if c.Uncertain && !c.Reported {
			paths = append(paths, c.Path)
		}
	}
	if len(paths) == 0 && !b.doubts.Load() {
		return nil
	}
	b.doubts.Store(true)
	v, err := json.Marshal(paths[:min(len(paths), mostUncertain)])
	found[turn.UncertainChanges] = v
	return err
}

// diff returns the current artifacts "diff" and [turn.DiffOmitted]; the latter is nil if the diff
// never lacked anything.
func (b *Workspace) diff(ctx context.Context) (v, omitted json.RawMessage, empty bool, err error) {
	diff, err := b.ledger.All().IncludeReported().Diff(ctx, b.files.Dir())
	if err != nil {
		return nil, nil, false, fmt.Errorf("diff of what the job changed: %w", err)
	}
	empty = diff == ""
	lacks := 0
	if len(diff) > maxDiff {
		head := strings.ToValidUTF8(diff[:maxDiff], "")
		lacks = len(diff) - len(head)
		if err := rootfs.WriteFile(b.omits, nil); err != nil {
			return nil, nil, false, fmt.Errorf("diff of what the job changed: %w", err)
		}
		diff = head + fmt.Sprintf("\n(%d bytes in all; the rest is left out here)\n", len(diff))
	}
	if _, err := os.Lstat(b.omits); err == nil {
		omitted = json.RawMessage(strconv.Itoa(lacks))
	}
	v, err = json.Marshal(diff)
	return v, omitted, empty, err
}
