package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/workflows"
)

// StagesFile is what must hold of a workspace; it names commands.
const StagesFile = ".adroit/validation.yaml"

// Given are the artifacts that the workspace has for an agent: stages, for one
// that takes some.
func (d Decision) Given(in agents.Input, cat *agents.Catalog) (map[string]json.RawMessage, error) {
	agent := in.Spec
	if agent == nil {
		var err error
		if agent, err = cat.Lookup(in.Agent); err != nil {
			return nil, nil // resolving it fails with this error
		}
	}
	takes := slices.ContainsFunc(agent.Inputs, func(f agents.Field) bool { return f.Artifact == "stages" && in.Inputs[f.Name] == nil })
	if !takes {
		return nil, nil
	}
	_, raw, err := d.stages()
	if raw == nil || err != nil {
		return nil, err
	}
	return map[string]json.RawMessage{"stages": raw}, nil
}

// stages are those of the workspace's own file, as far as d trusts it; raw is
// nil if there is none.
func (d Decision) stages() (s workflows.Stages, raw json.RawMessage, err error) {
	if d.dir == "" {
		return s, nil, nil
	}
	b, err := fs.ReadFile(d.files(), StagesFile)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil, nil
	}
	if err == nil {
		s, raw, err = ParseStages(b)
	}
	if err != nil {
		return s, nil, fmt.Errorf("%s: %w", StagesFile, err)
	}
	return s, raw, nil
}

// ParseStages reads stages as a person writes them.
func ParseStages(b []byte) (s workflows.Stages, raw json.RawMessage, err error) {
	text, err := rootfs.Plain(b)
	if err != nil {
		return s, nil, err
	}
	doc, bad := plainyaml.Parse(text, 1)
	if bad != nil {
		return s, nil, bad
	}
	var errs []error
	root := doc.Read(func(p plainyaml.Place, _, message string) {
		errs = append(errs, fmt.Errorf("line %d: %s", p.Line, message))
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
