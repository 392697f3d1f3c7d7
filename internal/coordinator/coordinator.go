package coordinator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// A Coordinator repairs one problem of a task. It belongs to the task's scope.
type Coordinator struct {
	sc    *executor.Scope
	o     Options
	all   []repairer      // that may repair
	tried map[string]bool // decisions, by signature and what was done
	past  experience      // of other jobs
	used  map[string]int  // moves of strategies, by strategy and place
	left  int             // repairs
	asked int             // questions to a person
	res   Result
	book  *Book // what users add

	coded    string // the detector of the program that has recognised codedFor
	codedFor *Problem

	last    *executor.Report // of the agent that repaired last
	pending []string         // commands that were not approved
	// missed is why a missing package was not got, missedHint what a person should do.
	missed, missedHint string

	words   string // of a person, for the agents
	advised bool   // they were not followed yet
}

type repairer = agents.DynamicAgent

// An experience is what a coordinator knows from other jobs.
type experience struct {
	begun bool
	Setup
	known map[string]*Known // by signature
}

// NoModel is the model of a task for which there is none: then only code decides.
const NoModel = "none"

// New is a coordinator for a task, which may spawn the agents that it needs.
func New(sc *executor.Scope, o Options) (*Coordinator, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	c := &Coordinator{sc: sc, o: o, tried: map[string]bool{}, used: map[string]int{}}
	var err error
	if c.book, err = readBook(sc.Task.Problems); err != nil {
		return nil, err
	}
	sp := sc.Task.Spawn
	if sp == nil || sc.Task.Model == NoModel || o.Only {
		return c, nil
	}
	for _, name := range sp.Allowed {
		if name == Analyst || name == o.Supervise || len(o.Names) > 0 && !slices.Contains(o.Names, name) {
			continue
		}
		var a agents.DynamicAgent
		if err := json.Unmarshal(sp.Agents[name].Spec, &a); err != nil {
			return nil, fmt.Errorf("agent %s as it was pinned: %w", name, err)
		}
		a.Name = name
		if len(problem.All(a.ProblemTypes, c.book.Types...)) > 0 {
			c.all = append(c.all, a)
		}
	}
	return c, nil
}

// end is the result, with a last attempt if there was one.
func (c *Coordinator) end(at *Attempt, status, reason, hint string) *Result {
	if at != nil {
		c.res.Attempts = append(c.res.Attempts, *at)
	}
	c.res.Status, c.res.Reason, c.res.Hint = status, clip(reason, 2000), hint
	c.res.Solved = status == Fixed || status == Passed
	if c.res.Solved {
		c.res.Problem = nil
	}
	return &c.res
}

func tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return "[…] " + strings.ToValidUTF8(s[len(s)-most:], "")
}

func (c *Coordinator) seen(sig, what string) bool { return c.tried[sig+" "+what] }

// first reports whether something was not done yet about a signature, and notes it.
func (c *Coordinator) first(sig, what string) bool {
	if c.seen(sig, what) {
		return false
	}
	c.tried[sig+" "+what] = true
	return true
}
