package workflows

import (
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
)

// BlogPhases writes a post in seven phases that are always the same: analyse,
// research, outline, expand, assemble, announce, publish. It is what the agent
// blog used to be, kept to compare the two: see adroit compare.
var BlogPhases = agents.Define("blog_phases", blogPhases)

func blogPhases(r *flow.Run, t executor.Task) (*executor.State, error) {
	s := &executor.State{Taint: t.Taint}
	var plan struct {
		Questions []string
		Words     int
		Topic     string
	}
	if why, err := do(r, &t, s, "analyze_prompt", args{"prompt": t.Prompt}); why != "" || err != nil {
		return end(r, &t, s, why, err)
	}
	if err := json.Unmarshal(s.Value("analysis"), &plan); err != nil {
		return end(r, &t, s, "the analysis cannot be read: "+err.Error(), nil)
	}

	// Research helps, but a post can be written without: what fails is noted
	// with the step and not the end.
	if has(&t, "web_search") {
		for _, q := range plan.Questions {
			if _, err := do(r, &t, s, "web_search", args{"query": q}); err != nil {
				return s, err
			}
		}
	}

	if why, err := do(r, &t, s, "generate_outline", args{"topic": plan.Topic}); why != "" || err != nil {
		return end(r, &t, s, why, err)
	}
	var outline struct{ Sections []struct{ Title string } }
	if err := json.Unmarshal(s.Value("outline"), &outline); err != nil {
		return end(r, &t, s, "the outline cannot be read: "+err.Error(), nil)
	}

	var calls []llm.Call
	for _, section := range outline.Sections {
		calls = append(calls, call("expand_section", args{"section": section.Title}))
	}
	replies, err := executor.Act(r, &t, s, calls...) // at once: each is an artifact of its own
	if err != nil {
		return s, err
	}
	for i, reply := range replies {
		if reply.Failed {
			return end(r, &t, s, fmt.Sprintf("section %q: %s", outline.Sections[i].Title, reply.Text), nil)
		}
	}

	if why, err := do(r, &t, s, "assemble_content", args{}); why != "" || err != nil {
		return end(r, &t, s, why, err)
	}
	if why, err := do(r, &t, s, "generate_social_posts", args{"networks": list(&t, "networks", "mastodon", "x")}); why != "" || err != nil {
		return end(r, &t, s, why, err)
	}
	for _, where := range list(&t, "publish") {
		if why, err := do(r, &t, s, "publish_"+where, args{}); why != "" || err != nil {
			return end(r, &t, s, why, err)
		}
	}
	return end(r, &t, s, "", nil)
}

type args map[string]any

// do has one call performed; why says what went wrong in it.
func do(r *flow.Run, t *executor.Task, s *executor.State, tool string, a args) (why string, err error) {
	replies, err := executor.Act(r, t, s, call(tool, a))
	if err != nil || !replies[0].Failed {
		return "", err
	}
	return tool + ": " + replies[0].Text, nil
}

func call(tool string, a args) llm.Call {
	raw, err := json.Marshal(a)
	if err != nil {
		panic(err) // args are made of strings
	}
	return llm.Call{Name: tool, Args: raw}
}

func end(r *flow.Run, t *executor.Task, s *executor.State, why string, err error) (*executor.State, error) {
	if err != nil {
		return s, err
	}
	return executor.Settle(r, t, s, why)
}

// list is an input that is a list of words.
func list(t *executor.Task, name string, otherwise ...string) []string {
	var out []string
	if json.Unmarshal(t.Given[name], &out) != nil || len(out) == 0 {
		return otherwise
	}
	return out
}

func has(t *executor.Task, tool string) bool {
	for i := range t.Tools {
		if t.Tools[i].Name == tool {
			return true
		}
	}
	return false
}
