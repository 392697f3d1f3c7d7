package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/system/exhaustion"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/tools/edit"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// A Program is what one brings to a configuration.
type Program struct {
	Tools     []tools.Tool
	Workflows []flow.Workflow  // beside those that ship
	Now       func() time.Time // nil: time.Now
	Version   string           // is written into the database, so that a later program can name it
	Warn      func(text string)
}

// Options returns the options of a runtime that has what the user has
// configured: models, agents, pipelines, skills, limits, permissions, sandbox,
// trust and the jobs of the command line. With an error they serve
// adroit.Diagnose only.
func (c *Config) Options(p Program) (adroit.Options, error) {
	confine, err := c.Confinement("")
	if err != nil {
		return adroit.Options{}, err
	}
	data, err := c.Data()
	if err != nil {
		return adroit.Options{Tools: c.Tools(p), Workspace: adroit.Workspace{Servers: c.LanguageServers(), Sandbox: confine}}, err
	}
	aside, err := sqlite.FinishExchange(data)
	if err != nil {
		return adroit.Options{Tools: c.Tools(p), Workspace: adroit.Workspace{Servers: c.LanguageServers(), Sandbox: confine}}, err
	}
	if aside != "" && p.Warn != nil {
		p.Warn("a restore that was cut short is finished; what was there before is in " + aside)
	}
	if file, err := filepath.Abs(Path(c.getenv)); err == nil {
		rootfs.Own(file, Dir(c.getenv))
	}
	if h := c.getenv("HOME"); h != "" {
		rootfs.Own(claudeAgents(h))
		rootfs.OwnStart(h)
	}
	hide := Redactor(c, c.getenv)
	servers, err := c.toolServers(p, data, confine, hide)
	if err != nil {
		return adroit.Options{Tools: c.Tools(p), Workspace: adroit.Workspace{Servers: c.LanguageServers(), Sandbox: confine}}, err
	}
	o := adroit.Options{
		Tools: c.Tools(p), ToolServers: servers, Source: c.source(data, hide), ModelWait: cmp.Or(c.Limits.Wait, defaultWait),
		Defaults: agents.Defaults{
			Substitutes: edit.Instead(c.EditFormats), Budget: agents.Budget{Windows: c.Windows, Result: c.Results.Bytes},
			Model: c.Model, Approve: c.Approve, Mode: c.Mode, Rules: c.Permissions, Prices: c.Prices,
			Limits: executor.Limits{Turns: c.Limits.Turns, Tokens: c.Limits.Tokens, CostUSD: c.Limits.CostUSD, Time: c.Limits.Time},
		},
		Definitions: adroit.Definitions{Agent: c.Agent, Workflows: slices.Concat(workflows.All(), p.Workflows)},
		Workspace: adroit.Workspace{
			Trust: data, ProjectBytes: c.Conventions.Bytes, TestCommands: c.testCommands(), ConfigFile: Path(c.getenv), OwnFiles: c.hostFiles,
			Servers: c.LanguageServers(), NoDiagnostics: c.Diagnostics == "off",
			Sandbox: confine, Network: c.Network.guard(), Names: c.Names(), Secrets: hide,
		},
		Storage:      adroit.Storage{Data: data, Store: p.store(data), CheckStore: checkStore(data, p.Version), AtOnce: c.Jobs.AtOnce},
		Callbacks:    adroit.Callbacks{Hooks: c.hooksIn(c.getenv("HOME")), Warn: p.Warn},
		Coordination: c.Coordinator.options(),
	}
	c.layers(&o)
	return o, nil
}

// store opens the database of a data directory. Where it cannot be written, jobs
// can be read. What is to change jobs gets the error where the host has run out of
// something, which is waited for.
func (p Program) store(data string) func(context.Context) (jobs.Store, error) {
	return func(ctx context.Context) (jobs.Store, error) {
		// Opening goes on when the operator has pressed Ctrl-C already: what
		// follows may be the settling of a job.
		db, denied, err := sqlite.OpenReadable(context.WithoutCancel(ctx), filepath.Join(data, "adroit.db"), sqlite.Options{Version: p.Version})
		if err != nil {
			return nil, fail(fmt.Errorf("opening the data directory: %w", err), "run "+hint.Command("doctor")+" for details; --data-dir DIR or ADROIT_HOME keeps state elsewhere")
		}
		if exhaustion.Of(denied) != "" && exhaustion.Changes(ctx) {
			return nil, errors.Join(denied, db.Close())
		}
		if denied != nil && p.Warn != nil {
			p.Warn("jobs can be read and not changed: opening the data directory: " + denied.Error())
		}
		return db, nil
	}
}

// Data is the directory that keeps all state, absolute.
func (c *Config) Data() (string, error) {
	if c.DataDir == "" {
		return "", fail(errors.New("there is no home directory to keep jobs in"), "name one with --data-dir DIR or ADROIT_HOME")
	}
	return filepath.Abs(c.DataDir)
}

// checkStore checks the database of a data directory.
func checkStore(data, version string) func(context.Context, bool) ([]*jobs.Job, []string, error) {
	path := filepath.Join(data, "adroit.db")
	return func(ctx context.Context, all bool) ([]*jobs.Job, []string, error) {
		if !all {
			db, err := sqlite.Open(ctx, path, sqlite.Options{Version: version, Check: true})
			if err != nil {
				return nil, nil, err
			}
			return nil, nil, db.Close()
		}
		db, err := sqlite.OpenReadOnly(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		defer db.Close()
		damage, err := db.Verify(ctx)
		if err != nil {
			damage = append(damage, err.Error())
		}
		list, err := db.List(ctx, jobs.Query{})
		return list, damage, err
	}
}

// Names are the changes to the list of names of files that no tool may touch.
func (c *Config) Names() *workspace.DenyList {
	return &workspace.DenyList{Deny: c.Secrets.Deny, Allow: c.Secrets.Allow}
}

// claudeAgents is where Claude Code keeps the agents of a user, which are read too.
func claudeAgents(home string) string { return filepath.Join(home, ".claude", "agents") }

// layers are the files of agents, pipelines and skills: what is built in, then
// the user's.
func (c *Config) layers(o *adroit.Options) {
	o.Agents = []agents.Layer{{Name: "built in", FS: configs.Agents(), Dir: "configs/agents"}}
	o.Pipelines = []agents.Layer{{Name: "built in", FS: configs.Pipelines(), Dir: "configs/pipelines"}}
	user := func(dir string, claude bool) agents.Layer {
		return agents.Layer{Name: "user", FS: os.DirFS(dir), Dir: dir, Claude: claude}
	}
	if h := c.getenv("HOME"); h != "" {
		o.Agents = append(o.Agents, user(claudeAgents(h), true))
	}
	if d := Dir(c.getenv); d != "" {
		o.Agents = append(o.Agents, user(filepath.Join(d, "agents"), false))
		dir := filepath.Join(d, "pipelines")
		o.Pipelines = append(o.Pipelines, agents.Layer{Name: "user", FS: os.DirFS(dir), Dir: dir})
		o.Skills = append(o.Skills, user(filepath.Join(d, "skills"), false))
		o.Coordination.Problems = append(o.Coordination.Problems, user(filepath.Join(d, "problems"), false))
	}
}

// Tools are the tools of a program, in the place of those that a configuration
// sets up those that know it.
func (c *Config) Tools(p Program) []tools.Tool {
	now := p.Now
	if now == nil {
		now = time.Now
	}
	return c.podcastTools(c.githubTools(c.publishTools(c.researchTools(p.Tools, now), now)))
}
