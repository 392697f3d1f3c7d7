package agents

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/tools"
)

// checkInputs checks what was given against what is declared and fills defaults.
func checkInputs(a *DynamicAgent, given map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	maps.Copy(out, given)
	if len(a.Inputs) == 0 {
		return out, nil
	}
	var names []string
	var errs []error
	for _, f := range a.Inputs {
		names = append(names, f.Name)
		if _, ok := out[f.Name]; ok {
			continue
		}
		switch {
		case f.Default != nil:
			out[f.Name] = f.Default
		case !f.Optional:
			errs = append(errs, fmt.Errorf("input %s is missing: %s", f.Name, cmp.Or(f.Description, "it is required")))
		default:
			out[f.Name] = json.RawMessage(`""`)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(names, name) {
			continue
		}
		hint := "; there are " + strings.Join(names, ", ")
		if near := spelling.Nearest(name, names); near != "" {
			hint = "; did you mean " + near + "?"
		}
		errs = append(errs, fmt.Errorf("there is no input %s%s", name, hint))
	}
	return out, errors.Join(errs...)
}

// giveInputs binds inputs to the artifacts they are declared as, and takes them out
// of those that the prompt lists: a tool reads them where they are, a model
// would have to repeat them word by word.
func giveInputs(a *DynamicAgent, t *executor.Task, inputs, asked, here map[string]json.RawMessage) {
	for _, f := range a.Inputs {
		v, ok := inputs[f.Name]
		if asked[f.Name] == nil && here[f.Artifact] != nil {
			v, ok = here[f.Artifact], true
		}
		if f.Artifact == "" || !ok || f.Artifact == tools.TestCommand || f.Artifact == memory.JobTaint {
			continue // the command that runs tests is not for whoever writes a request
		}
		delete(inputs, f.Name)
		if string(v) == `""` {
			continue
		}
		if t.Artifacts == nil {
			t.Artifacts = map[string]json.RawMessage{}
		}
		t.Artifacts[f.Artifact] = v
	}
}

// anything reports whether the inputs say something: an optional one that was
// left out does not.
func anything(inputs map[string]json.RawMessage) bool {
	for _, v := range inputs {
		if string(v) != `""` {
			return true
		}
	}
	return false
}
