package cliagent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

// codex is OpenAI's. It confines the commands of its model itself, to reading
// or to writing in the workspace; there is no right to write without running.
type codex struct{}

func (codex) keys() []string {
	return []string{"CODEX_HOME", "CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"}
}

func (codex) command(o invocation) (commandLine, error) {
	args := []string{"exec"}
	if o.Session != "" {
		args = append(args, "resume")
	}
	args = append(args, "--json", "--skip-git-repo-check")
	set := func(key, value string) { args = append(args, "-c", key+"="+value) }
	mode := "read-only"
	if o.Access.Write {
		mode = "workspace-write"
	}
	set("sandbox_mode", quoted(mode))
	set("approval_policy", quoted("never"))
	if o.Access.Write {
		set("sandbox_workspace_write.network_access", fmt.Sprint(o.Access.Run && o.Access.Net))
	}
	if !o.Access.Net {
		set("web_search", quoted("disabled"))
	}
	set("check_for_update_on_startup", "false")
	set("analytics.enabled", "false")
	set("feedback.enabled", "false")
	set("otel.exporter", quoted("none"))
	if o.Effort != "" {
		set("model_reasoning_effort", quoted(string(o.Effort)))
	}
	if o.System != "" {
		set("developer_instructions", quoted(o.System))
	}
	if o.Model != "" {
		args = append(args, "-m", o.Model)
	}
	if o.Session != "" {
		args = append(args, o.Session)
	}
	if len(o.Prompt) > most {
		return commandLine{args: append(args, "-"), stdin: []byte(o.Prompt)}, nil
	}
	return commandLine{args: append(args, notAFlag(o.Prompt))}, nil
}

// codexLine is a line of codex exec --json.
type codexLine struct {
	Type     string `json:"type"`
	ThreadID string `json:"thread_id"`
	Message  string `json:"message"`
	Error    struct {
		Message string `json:"message"`
	} `json:"error"`
	Usage struct {
		In     int `json:"input_tokens"`
		Cached int `json:"cached_input_tokens"`
		Out    int `json:"output_tokens"`
	} `json:"usage"`
	Item struct {
		ID        string          `json:"id"`
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Message   string          `json:"message"`
		Command   string          `json:"command"`
		Output    string          `json:"aggregated_output"`
		Code      *int            `json:"exit_code"`
		Status    string          `json:"status"`
		Server    string          `json:"server"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
		Query     string          `json:"query"`
		Changes   []struct {
			Path string `json:"path"`
			Kind string `json:"kind"`
		} `json:"changes"`
	} `json:"item"`
}

func (codex) read(s *run, line []byte) {
	var l codexLine
	if !decode(line, &l) {
		return
	}
	switch l.Type {
	case "thread.started":
		s.identify(l.ThreadID, "")
	case "item.started", "item.updated", "item.completed":
		l.item(s, l.Type == "item.completed")
	case "error":
		// Most of these are attempts that another follows.
		s.retry("%s", l.Message)
	case "turn.completed":
		s.cumulative(llm.Usage{In: l.Usage.In, Out: l.Usage.Out, Cached: l.Usage.Cached})
		s.end(nil)
	case "turn.failed":
		s.end(blame(l.Error.Message))
	}
}

func (l *codexLine) item(s *run, done bool) {
	it := &l.Item
	name, args := "", ""
	switch it.Type {
	case "command_execution":
		name, args = "shell", it.Command
	case "mcp_tool_call":
		name, args = it.Server+"."+it.Tool, string(it.Arguments)
	case "web_search":
		name, args = "web_search", it.Query
	case "collab_tool_call":
		name, args = it.Tool, string(it.Arguments)
	case "agent_message":
		if done {
			s.turn()
			s.text(it.Text)
		}
		return
	case "reasoning":
		if done {
			s.think(it.Text)
		}
		return
	case "error":
		if done { // of an item it is a warning
			s.warn("%s", it.Message)
		}
		return
	case "file_change":
		if done {
			l.changes(s)
		}
		return
	default:
		return
	}
	if !done {
		if _, known := s.open[it.ID]; !known {
			s.turn()
		}
		s.start(it.ID, name, args)
		return
	}
	if _, known := s.open[it.ID]; !known {
		s.turn()
		s.start(it.ID, name, args)
	}
	s.finish(it.ID, name, codexStatus(it.Status, it.Code), it.Code, it.Output)
}

func (l *codexLine) changes(s *run) {
	s.turn()
	var paths []string
	for _, c := range l.Item.Changes {
		paths = append(paths, c.Path)
	}
	s.start(l.Item.ID, "apply_patch", strings.Join(paths, " "))
	status := codexStatus(l.Item.Status, nil)
	s.finish(l.Item.ID, "apply_patch", status, nil, "")
	if status == extagent.StatusOK {
		for _, c := range l.Item.Changes {
			s.file(c.Path, c.Kind)
		}
	}
}

func codexStatus(status string, code *int) string {
	switch {
	case status == "declined":
		return extagent.StatusDenied
	case status == "failed", code != nil && *code != 0:
		return extagent.StatusError
	case status == "completed":
		return extagent.StatusOK
	}
	return extagent.StatusUnknown
}

func (codex) exited(s *run, _ int, stderr string) {
	words := lastLine(stderr)
	switch {
	case strings.Contains(stderr, "no rollout found"), strings.Contains(stderr, "No saved session found"), strings.Contains(stderr, "thread not found"):
		s.end(&fault{kind: extagent.NoResult, message: words, lost: true})
	case s.session == "" && words != "":
		s.end(blame(words)) // it did not begin
	}
}
