package adroit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
)

// An agent built in Go spawns another that is built in Go, by hand and by name.
func TestSpawnLiteral(t *testing.T) {
	lead := agents.DynamicAgent{Name: "boss", Description: "Leads.", Workflow: "boss", Prompt: "You lead.",
		Spawn: &agents.Spawn{Agents: []string{"counter"}, FanOut: 2, Total: 3}}
	counter := agents.DynamicAgent{Name: "counter", Description: "Counts.", Prompt: "You count words.",
		Tools: []string{"word_count"}, Done: executor.Criterion{Artifact: "words"}}
	for name, in := range map[string]agents.Input{"by value": {Agent: "boss", Spec: &lead, Prompt: "the words"}, "by name": {Agent: "boss", Prompt: "the words"}} {
		t.Run(name, func(t *testing.T) {
			// The file of the same name would be refused: it has no such tool.
			o := bossed(t, bossScript, map[string]string{"counter": "---\ndescription: Counts.\ntools: [other]\n---\nYou do not.\n"})
			o.Literals = []agents.DynamicAgent{lead, counter}
			s, _, err := runBoss(t, o, in)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(s.Value("counts")); got != `["done 2 two words","done 1 one word"]` {
				t.Errorf("counts: %s", got)
			}
		})
	}
	t.Run("no files", func(t *testing.T) {
		o := bossed(t, bossScript, nil)
		o.Agents, o.Literals = nil, []agents.DynamicAgent{lead, counter}
		if _, _, err := runBoss(t, o, agents.Input{Prompt: "the words"}); err != nil {
			t.Fatal(err)
		}
	})
}

// What lint refuses of a literal, Open does.
func TestLiteralsChecked(t *testing.T) {
	good := agents.DynamicAgent{Name: "counter", Description: "Counts.", Prompt: "You count words.", Tools: []string{"word_count"}}
	bad := func(change func(*agents.DynamicAgent)) agents.DynamicAgent {
		a := good
		change(&a)
		return a
	}
	for want, list := range map[string][]agents.DynamicAgent{
		`Literals[1]: there are two agents "counter"`:                   {good, good},
		`the name "A B" cannot be used`:                                 {bad(func(a *agents.DynamicAgent) { a.Name = "A B" })},
		"the prompt is empty":                                           {good, bad(func(a *agents.DynamicAgent) { a.Name, a.Prompt = "b", "" })},
		`Literals[0], agent "counter": error: there is no tool no_such`: {bad(func(a *agents.DynamicAgent) { a.Tools = []string{"no_such"} })},
	} {
		o := bossed(t, bossScript, nil)
		o.Literals = list
		rt, err := adroit.Open(t.Context(), o)
		if err == nil {
			rt.Close()
		}
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
