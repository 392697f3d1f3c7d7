package workflows

import (
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
)

// BlogPhases writes a post in seven phases that are always the same: analyse,
// research, outline, expand, assemble, announce, publish. It is what the agent
// blog used to be, kept to compare the two: see adroit compare.
var BlogPhases = agents.Define("blog_phases", blogPhases)

func blogPhases(sc *executor.Scope) error {
	var plan struct {
		Questions []string
		Words     int
		Topic     string
	}
	if err := do(sc, "analyze_prompt", args{"prompt": sc.Task.Prompt}); err != nil {
		return err
	}
	if _, err := sc.Value("analysis", &plan); err != nil {
		return err
	}

	// Research helps, but a post can be written without: what fails is noted
	// with the step and not the end.
	if sc.Has("web_search") {
		for _, q := range plan.Questions {
			if _, err := sc.Tool("web_search", args{"query": q}); err != nil {
				return err
			}
		}
	}

	if err := do(sc, "generate_outline", args{"topic": plan.Topic}); err != nil {
		return err
	}
	var outline struct{ Sections []struct{ Title string } }
	if _, err := sc.Value("outline", &outline); err != nil {
		return err
	}

	var calls []llm.Call
	for _, section := range outline.Sections {
		calls = append(calls, call("expand_section", args{"section": section.Title}))
	}
	replies, err := sc.Act(calls...) // at once: each is an artifact of its own
	if err != nil {
		return err
	}
	for i, reply := range replies {
		if reply.Failed {
			return fmt.Errorf("section %q: %s", outline.Sections[i].Title, reply.Text)
		}
	}

	if err := do(sc, "assemble_content", nil); err != nil {
		return err
	}
	if err := do(sc, "generate_social_posts", args{"networks": list(sc.Task, "networks", "mastodon", "x")}); err != nil {
		return err
	}
	for _, where := range list(sc.Task, "publish") {
		if err := do(sc, "publish_"+where, nil); err != nil {
			return err
		}
	}
	return nil
}

type args map[string]any

// do has one call performed that must succeed.
func do(sc *executor.Scope, tool string, a args) error {
	reply, err := sc.Tool(tool, a)
	if err == nil && reply.Failed {
		err = fmt.Errorf("%s: %s", tool, reply.Text)
	}
	return err
}

func call(tool string, a args) llm.Call {
	raw, err := json.Marshal(a)
	if err != nil {
		panic(err) // args are made of strings
	}
	return llm.Call{Name: tool, Args: raw}
}

// list is an input that is a list of words.
func list(t *executor.Task, name string, otherwise ...string) []string {
	var out []string
	if json.Unmarshal(t.Artifacts[name], &out) != nil || len(out) == 0 {
		return otherwise
	}
	return out
}
