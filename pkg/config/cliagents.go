package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/cliagent"
)

// A cliAgent configures a command-line agent: where a known one is, or how
// another is driven.
type cliAgent struct {
	Command []string          `yaml:"command" show:"words"`
	Format  string            `yaml:"format"`
	Env     []string          `yaml:"env"`
	Args    cliArgs           `yaml:"args"`
	Fields  map[string]string `yaml:"fields"`
	Types   map[string]string `yaml:"types"`
	Idle    time.Duration     `yaml:"idle"`
	Same    int               `yaml:"same"`
}

// cliArgs are the arguments of a program of format jsonl.
type cliArgs struct {
	Read    []string `yaml:"read" show:"words"`
	Write   []string `yaml:"write" show:"words"`
	Run     []string `yaml:"run" show:"words"`
	Model   []string `yaml:"model" show:"words"`
	Session []string `yaml:"session" show:"words"`
	System  []string `yaml:"system" show:"words"`
	Prompt  []string `yaml:"prompt" show:"words"`
}

// none reports whether no argument is configured.
func (a cliArgs) none() bool {
	return !slices.ContainsFunc([][]string{a.Read, a.Write, a.Run, a.Model, a.Session, a.System, a.Prompt}, func(l []string) bool { return l != nil })
}

// cliAgent is the program by its name, whether or not it is configured.
func (c *Config) cliAgent(name string) (*cliagent.Agent, error) {
	return c.newCLIAgent(name, c.CLI[name])
}

func (c *Config) newCLIAgent(name string, e cliAgent) (*cliagent.Agent, error) {
	command := slices.Clone(e.Command)
	if len(command) > 0 {
		command[0] = c.expand(command[0])
	}
	return cliagent.New(cliagent.Config{Name: name, Command: command, Format: e.Format, Env: e.Env, Args: cliagent.Args(e.Args), Fields: e.Fields, Types: e.Types,
		Limits: extagent.Limits{Idle: e.Idle, SameCalls: e.Same}, Getenv: c.getenv})
}

// cliAgents lists the command-line agents that can be named: the known and the
// configured ones, sorted.
func (c *Config) cliAgents() []string {
	names := slices.Concat(cliagent.Known(), slices.Collect(maps.Keys(c.CLI)))
	slices.Sort(names)
	return slices.Compact(names)
}

// accounts sets a price of zero for the programs that report their own cost and
// have no configured price: a cost limit then holds by what they report.
func (c *Config) accounts() {
	for _, name := range c.cliAgents() {
		ref := "cli/" + name
		a, err := c.cliAgent(name) // checkCLI reports the error
		if _, priced := c.Prices.Of(ref); priced || err != nil || !a.Costs() {
			continue
		}
		if c.Prices == nil {
			c.Prices = llm.Prices{}
		}
		c.Prices[ref], c.Prices[ref+":*"] = llm.Price{}, llm.Price{}
	}
}

func (c *Config) checkCLI(at place) error {
	for _, name := range slices.Sorted(maps.Keys(c.CLI)) {
		e := c.CLI[name]
		where := fmt.Sprintf("%s: cli.%s", at("cli", name), name)
		check := func(e cliAgent) error {
			_, err := c.newCLIAgent(name, e)
			return err
		}
		switch {
		case strings.ContainsAny(name, "/: \t") || name == "":
			return fail(fmt.Errorf("%s: %q is no name", where, name), "a name has neither a slash nor a colon, which begin what follows it")
		case e.Format != "jsonl" && (e.Fields != nil || e.Types != nil || !e.Args.none()):
			return fail(fmt.Errorf("%s: cli.%s: args, fields and types are for format: jsonl", at("cli", name, "format"), name), "leave them out, or say format: jsonl")
		}
		if slices.ContainsFunc(e.Env, func(v string) bool { return v == "" || strings.Contains(v, "=") }) {
			return fail(fmt.Errorf("%s: cli.%s.env holds names of variables, not values", at("cli", name, "env"), name), "for example env: [LAB_KEY]; the key itself is never in this file")
		}
		if err := check(e); err != nil {
			return fail(fmt.Errorf("%s: %w", faultPlace(at, e, check, "cli", name), err), "see docs/models.md")
		}
	}
	return nil
}
