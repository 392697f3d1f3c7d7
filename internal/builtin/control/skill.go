// Package control has the tools with which a model steers its own run: it reports that it
// is done, keeps a list of tasks, remembers facts for later jobs, reads what it was shown
// in part, skills and the full descriptions of tools, and has other agents work.
//
//	set, err := tools.NewSet(control.Finish, control.Todo, control.ReadResult)
//
// What they read is pinned with the job as artifacts, so that a file edited during a run
// changes nothing; without the artifact a tool is not offered.
package control

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/tools"
)

//go:embed *.md
var descriptions embed.FS

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

// ReadSkill is the tool read_skill.
var ReadSkill = tools.New(tools.Metadata{
	Name: "read_skill", Category: "utility", Effect: tools.Pure, Optionality: tools.Optional, Consumes: []string{"skills"},
	Examples: []tools.Example{{Note: "its instructions", Args: json.RawMessage(`{"name":"release-notes"}`)}},
}.ProseIn(descriptions), skillRead)

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

// input of finish.
type input struct {
	Summary  string `json:"summary,omitempty" jsonschema:"description=What was done and found"`
	Outcome  string `json:"outcome,omitempty" jsonschema:"enum=done,enum=not_needed,enum=cannot_be_done,description=not_needed: nothing has to be changed"`
	Evidence string `json:"evidence,omitempty" jsonschema:"deprecated,description=What shows that it works"`
}

// Finish is the tool finish.
var Finish = tools.New(tools.Metadata{
	Name: "finish", Category: "utility", Effect: tools.Pure,
	Examples: []tools.Example{{Note: "after the tests passed", Args: json.RawMessage(`{"summary":"Totals are rounded once per cart; 14 tests pass."}`)}},
}.ProseIn(descriptions), finish)

func finish(_ context.Context, _ *tools.Env, in input) (tools.Result, error) {
	sum := strings.TrimSpace(in.Summary)
	if sum == "" { // the text of the answer has it, if anything does
		sum = "finished"
	}
	text := sum
	if ev := strings.TrimSpace(in.Evidence); ev != "" {
		text += "\nEvidence: " + ev
	}
	return tools.Result{Text: text, Summary: sum}, nil
}

// input of spawn_agent.
type subagentInput struct {
	Agent string `json:"agent" jsonschema:"minLength=1,description=Its name"`
	Task  string `json:"task" jsonschema:"minLength=1,description=What to do and what to report"`
}

// Spawn is the tool spawn_agent.
var Spawn = tools.New(tools.Metadata{
	Name: "spawn_agent", Category: "utility", Needs: tools.Think, Optionality: tools.Optional,
	Examples: []tools.Example{{Note: "look something up", Args: json.RawMessage(`{"agent":"researcher","task":"Find out which versions of Go have the package iter. Report the first one, with the address of the page that says so."}`)}},
}.ProseIn(descriptions), func(context.Context, *tools.Env, subagentInput) (tools.Result, error) {
	return tools.Result{}, errors.New("no agent may be spawned here; it takes a job of an agent whose file says under spawn which ones")
})
