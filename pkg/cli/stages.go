package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/adroit-run/adroit/internal/plainyaml"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/workflows"
)

// projectStages is where a workspace keeps what must hold of it. It is read
// only where its operator trusts it: it names commands.
const projectStages = ".adroit/validation.yaml"

// given are the artifacts that the workspace has for an agent: stages, for one
// that takes some.
func (a *app) given(in agents.Input, cat *agents.Catalog, v vouch) (map[string]json.RawMessage, error) {
	agent := in.Spec
	if agent == nil {
		var err error
		if agent, err = cat.Lookup(in.Agent); err != nil {
			return nil, nil // whoever resolves it says so
		}
	}
	takes := slices.ContainsFunc(agent.Inputs, func(f agents.Field) bool { return f.Artifact == "stages" && in.Inputs[f.Name] == nil })
	if !takes {
		return nil, nil
	}
	_, raw, err := v.stages()
	if raw == nil || err != nil {
		return nil, err
	}
	return map[string]json.RawMessage{"stages": raw}, nil
}

// stages are those of the workspace's own file, as far as v trusts it; raw is
// nil if there is none.
func (v vouch) stages() (s workflows.Stages, raw json.RawMessage, err error) {
	if v.dir == "" {
		return s, nil, nil
	}
	root, err := os.OpenRoot(v.dir)
	if err != nil {
		return s, nil, err
	}
	defer root.Close()
	b, err := fs.ReadFile(v.files(root), projectStages)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	if err == nil {
		s, raw, err = stagesFile(b)
	}
	if err != nil {
		return s, nil, fmt.Errorf("%s: %w", projectStages, err)
	}
	return s, raw, nil
}

// stagesFile reads stages as a person writes them.
func stagesFile(b []byte) (s workflows.Stages, raw json.RawMessage, err error) {
	doc, bad := plainyaml.Parse(string(b), 1)
	if bad != nil {
		return s, nil, bad
	}
	var errs []error
	root := doc.Read(func(p plainyaml.Place, _, words string) {
		errs = append(errs, fmt.Errorf("line %d: %s", p.Line, words))
	})
	switch err := errors.Join(errs...); {
	case err != nil:
		return s, nil, err
	case root == nil:
		return s, nil, errors.New("it says nothing; write for example stages: [{name: lint, run: make lint}]")
	}
	raw = root.JSON()
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, nil, err
	}
	return s, raw, s.Check()
}
