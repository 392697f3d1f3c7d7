package adroit

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/adroit-run/adroit/internal/coordinator"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/guard/secret"
)

// typedSecrets finds the secrets in what a person types for a job in dir. A job keeps that
// in the database, and providers of models get it.
func (rt *Runtime) typedSecrets(dir string) *secret.Redactor {
	if rt.bare {
		return rt.o.Secrets // of no project
	}
	return rt.o.Secrets.With(secret.DotenvAt(dir)...)
}

// hideTyped replaces the secrets in text that models read, and warns of each. where is what
// the text is.
func (rt *Runtime) hideTyped(r *secret.Redactor, where, text string) (clean string, replaced []secret.Replaced) {
	clean, hit := r.String(text)
	if !hit {
		return text, nil
	}
	for _, f := range r.Find(text) {
		if one := (secret.Replaced{Where: where, Kind: f.Kind, Fingerprint: f.Fingerprint}); !slices.Contains(replaced, one) {
			replaced = append(replaced, one)
		}
	}
	if replaced == nil {
		replaced = []secret.Replaced{{Where: where}}
	}
	for _, one := range replaced {
		rt.warn("%s", secret.ReplacedWords(one))
	}
	return clean, replaced
}

// hideTypedInput hides the secrets in a request that models read: in its prompt and, where
// no program reads them, in its inputs.
func (rt *Runtime) hideTypedInput(agent *agents.DynamicAgent, in *agents.Input) (replaced []secret.Replaced) {
	r := rt.typedSecrets(in.Dir)
	in.Prompt, replaced = rt.hideTyped(r, "the prompt", in.Prompt)
	in.Inputs = maps.Clone(in.Inputs) // they are the caller's
	for _, name := range slices.Sorted(maps.Keys(in.Inputs)) {
		if clean, hit := r.JSON(in.Inputs[name]); hit && !readByCode(agent, in, name) {
			_, more := rt.hideTyped(r, "the input "+name, string(in.Inputs[name]))
			replaced = append(replaced, more...)
			in.Inputs[name] = clean
		}
	}
	return replaced
}

// readByCode reports whether code reads an input of a request: then another text in its
// place would have it do another thing.
func readByCode(agent *agents.DynamicAgent, in *agents.Input, name string) bool {
	switch {
	case in.Pipeline != "":
		return true
	case agent.Runs() == coordinator.Workflow.Name:
		return name == "command" || name == "steps"
	}
	return agent.Runs() != agents.Workflow.Name
}

// refuseTyped refuses secrets in what code reads of a request whose text for models has
// none any more: the job would keep them.
func (rt *Runtime) refuseTyped(in agents.Input) error {
	given := map[string]json.RawMessage{}
	for name, v := range in.Inputs {
		given["the input "+name] = v
	}
	if in.Test != "" {
		given["the command of --test"], _ = json.Marshal(in.Test)
	}
	r := rt.typedSecrets(in.Dir)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if shown, hit := r.JSON(given[name]); hit {
			return secretRefused(name, string(shown))
		}
	}
	return nil
}

// secretRefused refuses what code or a question would get with a secret in it.
func secretRefused(where, shown string) error {
	return problem.Invalidf("put it into a variable or a file that the command reads, and name that; secrets.known in the configuration names what is no secret",
		"%s has a secret in it, which the job would keep: %s", where, shown)
}
