package control

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

// input of read_skill.
type skillInput struct {
	Name string `json:"name" jsonschema:"minLength=1,description=The skill"`
	File string `json:"file,omitempty" jsonschema:"description=One of its files; default its instructions"`
}

// A skillInfo is an element of the artifact "skills".
type skillInfo struct {
	Name  string            `json:"name"`
	Body  string            `json:"body"`
	Files map[string]string `json:"files,omitempty"` // by path below the skill's folder
}

//go:embed read_skill.md
var skillProse string

// Read is the tool read_skill.
var ReadSkill = tools.New(tools.Metadata{
	Name: "read_skill", Category: "utility", Effect: tools.Pure, Optionality: tools.Optional, Consumes: []string{"skills"},
	Examples: []tools.Example{{Note: "its instructions", Args: json.RawMessage(`{"name":"release-notes"}`)}},
}.Prose(skillProse), skillRead)

func skillRead(_ context.Context, env *tools.Env, in skillInput) (tools.Result, error) {
	raw := env.Artifacts.Value("skills")
	if raw == nil {
		return tools.Result{}, fmt.Errorf("this run has no skills; go on without")
	}
	var list []skillInfo
	if err := json.Unmarshal(raw, &list); err != nil {
		return tools.Result{}, tools.Fatal(fmt.Errorf("the skills of this job cannot be read: %w", err))
	}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.Name
	}
	i := slices.Index(names, in.Name)
	if i < 0 {
		return tools.Result{}, fmt.Errorf("there is no skill %q%s; there are %s", in.Name, spelling.DidYouMean(in.Name, names), strings.Join(names, ", "))
	}
	s := list[i]
	files := slices.Sorted(maps.Keys(s.Files))
	name := strings.TrimPrefix(in.File, "./")
	if name == "" || name == "SKILL.md" {
		text := s.Body
		if len(files) > 0 {
			text += fmt.Sprintf("\n\nFiles of this skill, for read_skill with file: %s", strings.Join(files, ", "))
		}
		return tools.Result{Text: text, Summary: s.Name}, nil
	}
	text, ok := s.Files[name]
	if !ok {
		if len(files) == 0 {
			return tools.Result{}, fmt.Errorf("the skill %s has no files besides its instructions", s.Name)
		}
		return tools.Result{}, fmt.Errorf("the skill %s has no file %q%s; it has %s", s.Name, in.File, spelling.DidYouMean(name, files), strings.Join(files, ", "))
	}
	return tools.Result{Text: text, Summary: s.Name + " " + name}, nil
}
