package coordinator

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
)

// What a Policy may say of the memory, beside Off.
const (
	OfProject = "project"
	OfUser    = "user"
)

// A Policy is the coordinators' knowledge and way to learn.
type Policy struct {
	// Problems are files with types of problems, detectors and strategies;
	// Detectors recognise failures in Go.
	Problems  []agents.Layer
	Detectors []Detector
	// Memory is the scope of recall about the same failure: project (the default), user
	// (all projects) or off, which keeps nothing either.
	Memory string
	// Compare assigns jobs to the two sides of a comparison by their id: memory: on,
	// off; strategy: the names of two strategies, or of one and default.
	Compare map[string][]string
}

// comparable lists the comparisons, and the sides of each.
var comparable = map[string]struct {
	sides string
	side  func(string) bool
}{
	"memory":   {"on, off", func(s string) bool { return s == On || s == Off }},
	"strategy": {"the names of strategies, default", func(s string) bool { return typeRule.MatchString(s) }},
}

// Check reports invalid settings.
func (p Policy) Check() error {
	if !slices.Contains([]string{"", OfProject, OfUser, Off}, p.Memory) {
		return fmt.Errorf("memory is %q; it is project, user or off", p.Memory)
	}
	for _, what := range slices.Sorted(maps.Keys(p.Compare)) {
		known, ok := comparable[what]
		if !ok {
			return fmt.Errorf("compare: %q cannot be compared; %v can", what, slices.Sorted(maps.Keys(comparable)))
		}
		list := p.Compare[what]
		if len(list) != 2 {
			return fmt.Errorf("compare.%s has %d sides; a comparison has two of: %s", what, len(list), known.sides)
		}
		for i, s := range list {
			if !known.side(s) || slices.Contains(list[:i], s) {
				return fmt.Errorf("compare.%s has the side %q; they are two different ones of: %s", what, s, known.sides)
			}
		}
		if what == "memory" && p.Memory == Off {
			return fmt.Errorf("compare.memory compares nothing, for memory is off")
		}
	}
	return nil
}

// assign is the side of a job: the same whenever it is asked, and as likely as each
// other one.
func assign(job, what string, sides []string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(what + "\x00" + job)) // never fails
	n := h.Sum64()
	n ^= n >> 32 // ids of one moment differ in their last letters only
	n *= 0x9e3779b97f4a7c15
	return sides[(n>>32)%uint64(len(sides))]
}

// Setup returns the setup of a job's coordinators. What was chosen for the job is part
// of no comparison.
func (p Policy) Setup(job string, c Choice) Setup {
	s := Setup{Everywhere: p.Memory == OfUser, Remember: p.Memory != Off}
	s.Recall, s.Commands = s.Remember, true
	switch {
	case c.Memory != "":
		s.Recall = c.Memory == On
		s.Remember = s.Recall
	case len(p.Compare["memory"]) > 0 && s.Remember:
		side := assign(job, "memory", p.Compare["memory"])
		s.Arms = map[string]string{"memory": side}
		s.Recall = side == On // both sides remember: what they know is the same
	}
	if list := p.Compare["strategy"]; c.Strategy != "" {
		s.Strategy = c.Strategy
	} else if len(list) > 0 {
		s.Strategy, s.Strategies = assign(job, "strategy", list), list
	}
	return s
}

// strategies keeps, of what was set up, what the job's files know: a comparison whose
// sides nobody has written compares nothing.
func (c *coordinator) strategies() error {
	s := &c.past.Setup
	known := func(name string) bool { return name == DefaultStrategy || c.book.Named[name] != nil }
	if len(s.Strategies) == 0 {
		if s.Strategy != "" && !known(s.Strategy) {
			return fmt.Errorf("no file about problems has a strategy %q; there are %s", s.Strategy, strings.Join(append(slices.Sorted(maps.Keys(c.book.Named)), DefaultStrategy), ", "))
		}
		return nil
	}
	if !slices.ContainsFunc(s.Strategies, func(name string) bool { return !known(name) }) {
		return nil
	}
	list := strings.Join(s.Strategies, " and ")
	s.Strategy, s.Strategies = "", nil
	if len(c.book.Named) == 0 {
		return nil // the files of another project have them
	}
	return c.sc.Note("the strategies %s are not compared: the files about problems do not have both", list)
}

// strategy returns the strategy of the job's side of a comparison, or its choice, for a
// type of problem; nil leaves it to the agents that name the type. Where the sides
// differ about the type, the job counts in the comparison from now on, whichever side
// it is on.
func (c *coordinator) strategy(typ string) Strategy {
	if slices.ContainsFunc(c.past.Strategies, func(name string) bool { return c.book.Named[name][typ] != nil }) {
		c.arm(map[string]string{"strategy": c.past.Strategy})
	}
	if s := c.book.Named[c.past.Strategy][typ]; s != nil {
		return s
	}
	return c.book.Strategies[typ]
}

// arm notes sides that the job is on.
func (c *coordinator) arm(sides map[string]string) {
	arms := map[string]string{}
	maps.Copy(arms, c.res.Arms)
	maps.Copy(arms, sides)
	c.res.Arms = arms
}

// Lint reports sides of a comparison that no file has.
func (p Policy) Lint(b *Book) (out agents.Problems) {
	severity := agents.Warning // those of another project
	for _, name := range p.Compare["strategy"] {
		if b.Named[name] != nil {
			severity = agents.Error
		}
	}
	for _, name := range p.Compare["strategy"] {
		if name == DefaultStrategy || b.Named[name] != nil {
			continue
		}
		one := agents.Problem{File: "coordinator.compare.strategy", Severity: severity, Message: "no file about problems has a strategy " + name}
		if near := spelling.Nearest(name, slices.Sorted(maps.Keys(b.Named))); near != "" {
			one.Hint = "did you mean " + near + "?"
		}
		out = append(out, one)
	}
	return out
}
