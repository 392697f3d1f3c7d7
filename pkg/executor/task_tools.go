package executor

import (
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

func (t *Task) tool(name string) *Tool {
	for i := range t.Tools {
		if t.Tools[i].Name == name {
			return &t.Tools[i]
		}
	}
	for i := range t.Checks {
		if t.Checks[i].Name == name {
			return &t.Checks[i]
		}
	}
	if t.reach().Has(name) {
		return &Tool{ToolSpec: llm.ToolSpec{Name: name}, Needs: tools.Net} // as all tools of servers
	}
	return nil
}

func (t *Task) names() (out []string) {
	for _, tool := range t.Tools {
		out = append(out, tool.Name)
	}
	return out
}

// offers lists the tools, for a model that called another one.
func (t *Task) offers() string {
	if len(t.Tools) == 0 {
		return "you have no tools: answer in words"
	}
	return "you have: " + strings.Join(t.names(), ", ")
}

// callable are the tools that may be called in this turn.
func (t *Task) callable() []Tool {
	if t.turn.none {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.Tools), func(tool Tool) bool { return matches(t.turn.refuse, tool.Name) })
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

// edits reports whether the task changes files by tools, which quote their text.
func (t *Task) edits() bool {
	return t.Revision >= 3 && slices.ContainsFunc(t.Tools, Tool.changesFiles)
}

// reach is what the task reaches through call_tool, nil if it has none.
func (t *Task) reach() *turn.Reach {
	if t.Artifacts[turn.ReachArtifact] == nil || !slices.ContainsFunc(t.Tools, func(x Tool) bool { return x.Name == turn.CallTool }) {
		return nil
	}
	return turn.ReadReach(t.Artifacts[turn.ReachArtifact])
}

func (t *Task) specs() (out []llm.ToolSpec) {
	for _, tool := range t.Tools {
		out = append(out, tool.ToolSpec)
	}
	return out
}

// meantCalls are the calls that an answer stands for: a call through call_tool is one
// of the tool that it names, and one of a tool that is spelled otherwise is of that
// tool, for rules, results and records. The transcript keeps
// what the model wrote.
func (t *Task) meantCalls(calls []llm.Call) []llm.Call {
	calls = slices.Clone(calls)
	if t.Revision >= 4 {
		for i, c := range calls {
			if t.tool(c.Name) != nil {
				continue
			}
			name := c.Name
			if t.Revision >= 8 {
				name = turn.BareName(name)
			}
			if meant, ok := turn.Meant(name, t.specs()); ok && (meant != finish || t.Revision >= 8 || spelling.Fold(name) == finish) {
				calls[i].Name = meant
			}
		}
	}
	reach := t.reach()
	if reach == nil {
		return calls
	}
	for i, c := range calls {
		if c.Name != turn.CallTool || c.Malformed != "" {
			continue
		}
		if name, args, ok := reach.Meant(c.Args); ok {
			calls[i].Name, calls[i].Args = name, args
		}
	}
	return calls
}
