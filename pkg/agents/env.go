package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/route"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An Env is a request's environment: the operator's defaults, and what the runtime
// knows of models, the host and the workspace.
type Env struct {
	Defaults

	// Route resolves the name of a model: a role, and the models
	// behind it. Nil takes names for provider/model.
	Route func(ref string) (executor.Route, error)
	// Lesser reports whether a name is a role that agents which ship name and
	// that nobody has set up: the model of the request does its work. Nil takes
	// cheap and strong for that.
	Lesser func(ref string) bool

	// Window asks the server of a model for its context window. Nil: nobody asks.
	Window route.Ask

	// Host reports whether the host has what a tool requires, such as git or ffmpeg:
	// nil, or an error that reports what to do. Nil looks for programs on PATH.
	Host func(capability string) error
	// Confined reports whether commands of jobs run in a sandbox. Nil: they do not.
	Confined func() bool

	Skills  []Skill // to choose from
	Project Project // what the workspace states about itself
	// Test is the command line that runs the tests of the workspace, if one is
	// configured. A sub-agent takes that of its parent.
	Test string
	// Missing states what the workspace of a request lacks for a tool to check
	// anything: see tools.Tool. Nil: nobody looks.
	Missing func(dir string, t tools.Tool, args json.RawMessage, test string) string
	// Around describes the workspace in the first message of agents that change
	// code until the tests pass, with the command that runs those, if one is
	// configured, or that repair a problem, without it. Nil: they have to look.
	Around func(tests bool, command string) string
	// Recall returns what earlier jobs remembered that fits a text, as lines to
	// quote, and what they carry; scope is project or user. Nil: nothing is
	// remembered.
	Recall func(scope, text string) (lines []string, taint tools.Taint)
	// Given are artifacts that the workspace has, for agents with an input that
	// takes one and was not given it.
	Given map[string]json.RawMessage
}

// Words are a file of a project, by its name relative to the workspace.
type Words struct{ File, Text string }

// A Project is a workspace's statement about itself, in AGENTS.md or, without one, in
// CLAUDE.md: the file at its top, which goes into the prompt, and those of
// directories below, which the model is shown when it gets there. They are the
// project's words: below ours, and marked as not ours.
type Project struct {
	File string // of the top, "" if there is none
	Text string // within the budget
	Says []turn.DirText
	Dir  string // the workspace, absolute
	// Around are the files of the directories around the workspace in its repository,
	// the top first.
	Around []Words

	// Untrusted are the files that were not read because nobody trusts them.
	Untrusted []string
}

// readResult reads what a result has that was not shown.
const readResult = "read_result"

// withResults gives own with the tool that reads results on, if there are tools
// whose results may be long and nothing denies it.
func withResults(a *DynamicAgent, own, set *tools.Set) *tools.Set {
	long := false
	for t := range own.All() {
		long = long || t.Needs&(tools.Exec|tools.Shell|tools.Net) != 0 || t.Needs&(tools.Read|tools.Write) == tools.Read
	}
	if !long {
		return own
	}
	with, err := set.Only(append(own.Names(), readResult)...)
	if err != nil {
		return own // it is not part of this program
	}
	return with.Without(a.Deny...)
}

// setBudget bounds the conversation of a task whose model is known.
func setBudget(env Env, t *executor.Task) error {
	b := &turn.Budget{Result: env.Budget.Result}
	if t.Options.Window == 0 {
		ask := env.Window
		if env.Budget.Model != "" {
			ask = nil // a recording stands in for it
		}
		b.Window, b.Guess = route.Windows(env.Budget.Windows).Of(cmp.Or(env.Budget.Model, t.Model), ask)
	}
	if ref := cmp.Or(env.Budget.Cheap, env.Think); ref != "" {
		r, err := routeOf(env, ref)
		if err != nil {
			return fmt.Errorf("the model that summarises: %w", err)
		}
		b.Cheap = r.Model
		if cost, ok := env.Prices.Of(r.Model); ok && r.Model != t.Model {
			if t.Prices == nil {
				t.Prices = llm.Prices{}
			}
			t.Prices[r.Model] = cost
		}
	}
	t.Budget = b
	return nil
}

// routeOf finds what the name of a model stands for.
func routeOf(env Env, ref string) (executor.Route, error) {
	if ref == "" {
		return executor.Route{}, errors.New("no model is named, neither by the request nor by the agent nor as a default")
	}
	if env.Route == nil {
		return executor.Route{Model: ref}, nil
	}
	return env.Route(ref)
}

// setModels gives a task its models: its own, those behind it, the one for tools
// that think, and what they cost.
func setModels(a *DynamicAgent, t *executor.Task, r executor.Route, in Input, env Env, sets ...*tools.Set) error {
	t.Model, t.Fallbacks, t.Hedge = r.Model, r.Fallbacks, r.Hedge
	t.Options.Window = cmp.Or(t.Options.Window, r.Window)
	refs := r.Refs()
	if slices.ContainsFunc(sets, thinks) {
		own := executor.Route{Model: t.Model, Window: t.Options.Window, Fallbacks: t.Fallbacks}
		if ref := cmp.Or(a.ThinkModel, env.Think); ref != "" {
			var err error
			if own, err = routeOf(env, ref); err != nil {
				return fmt.Errorf("the model for tools that think: %w", err)
			}
		}
		own.Hedge = 0 // what a tool asks is small
		t.Think = &turn.Think{Route: own}
		refs = append(refs, own.Refs()...)
	}
	var unpriced []string
	for _, ref := range refs {
		cost, ok := env.Prices.Of(ref)
		switch {
		case !ok && !slices.Contains(unpriced, ref):
			unpriced = append(unpriced, ref)
		case ok && ref == t.Model:
			t.Price = cost
		case ok:
			if t.Prices == nil {
				t.Prices = llm.Prices{}
			}
			t.Prices[ref] = cost
		}
	}
	if t.Limits.CostUSD <= 0 || unpriced == nil {
		return nil
	}
	if in.Limits.CostUSD > 0 {
		return &PriceError{USD: t.Limits.CostUSD, Models: unpriced}
	}
	if slices.Contains(unpriced, t.Model) {
		t.Limits.CostUSD = -1 // an agent's own limit does not keep it from a model without a price
	}
	return nil
}

// A PriceError is a request for a limit of money on models of which nobody
// knows what they cost.
type PriceError struct {
	USD    float64
	Models []string
}

func (e *PriceError) Error() string {
	return fmt.Sprintf("a limit of %.2f USD needs the price of %s; configure it", e.USD, strings.Join(e.Models, ", "))
}

func thinks(set *tools.Set) bool {
	for t := range set.All() {
		if t.Needs&tools.Think != 0 {
			return true
		}
	}
	return false
}

// modelOf is the name of the model that a request is for.
func modelOf(a *DynamicAgent, in Input, env Env) string {
	p, own := in.Parent, a.Model
	if isLesser(env, own) {
		own = ""
	}
	if p == nil {
		return cmp.Or(in.Model, own, env.Model)
	}
	if p.Force {
		return p.Model
	}
	return cmp.Or(in.Model, own, p.Model, env.Model)
}

func isLesser(env Env, ref string) bool {
	if env.Lesser != nil {
		return env.Lesser(ref)
	}
	return ref == "cheap" || ref == "strong"
}
