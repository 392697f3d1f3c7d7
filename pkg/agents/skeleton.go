package agents

import (
	"fmt"
	"strings"
)

// Skeleton is the text of a new agent file, with what one usually needs and
// comments on what else there is.
func Skeleton(name string) (string, error) {
	if !nameRule.MatchString(name) {
		return "", fmt.Errorf("an agent cannot be named %q; use lower case letters, digits, - and _, as in code-reviewer", name)
	}
	return strings.ReplaceAll(skeleton, "NAME", name), nil
}

const skeleton = `---
name: NAME
description: Say in one sentence what it is for; people and other agents choose by it.
tools: [read_file, list_files, search, finish]
# What must hold before a run counts as done. Also possible: artifact, where,
# tool, check (run for the model: run_tests, {tool: run_check, with: {check: lint}}
# or {run: make lint}), any.
done: {all: [{signal: TASK_COMPLETE}]}
limits: {turns: 30, time: 30m}
# grant: [read]           what its tools may need at most: read, write, exec, shell, net, think, publish
# model: ollama/qwen3:8b  else the default
# inputs: {topic: What it is about.}
---
You are … Say what to do, in what order, and what a good result looks like.

{{range .Tools}}{{if .UsageHint}}- {{.Name}}: {{.UsageHint}}
{{end}}{{end}}`
