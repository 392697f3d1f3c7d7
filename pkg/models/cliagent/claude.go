package cliagent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

// claude is Claude Code. Its tools are offered one by one; its commands are not
// confined.
type claude struct{}

func (claude) keys() []string {
	return []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN",
		"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_MAX_RETRIES"}
}

func (claude) command(o invocation) (commandLine, error) {
	offer := []string{"Read", "Glob", "Grep", "TodoWrite"}
	mode := "default"
	if o.Access.Net {
		offer = append(offer, "WebFetch", "WebSearch")
	}
	if o.Access.Write {
		offer, mode = append(offer, "Edit", "Write", "NotebookEdit"), "acceptEdits"
	}
	if o.Access.Run {
		offer = append(offer, "Bash", "BashOutput", "KillShell")
	}
	tools := strings.Join(offer, ",")
	args := []string{"-p", "--output-format", "stream-json", "--verbose", "--permission-mode", mode, "--tools", tools, "--allowedTools", tools}
	if o.Model != "" {
		args = append(args, "--model", o.Model)
	}
	if o.System != "" {
		args = append(args, "--append-system-prompt", notAFlag(o.System))
	}
	if o.Effort != "" {
		args = append(args, "--effort", string(o.Effort))
	}
	if n, ok := whole(o.Limits.Turns); ok {
		args = append(args, "--max-turns", strconv.Itoa(n))
	}
	if o.Limits.CostUSD > 0 {
		args = append(args, "--max-budget-usd", strconv.FormatFloat(o.Limits.CostUSD, 'f', -1, 64))
	}
	if o.Session != "" {
		args = append(args, "--resume", o.Session)
	}
	inv := commandLine{env: []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1"}}
	if len(o.Prompt) > most {
		inv.args, inv.stdin = args, []byte(o.Prompt)
		return inv, nil
	}
	// The flags before take any number of words.
	inv.args = append(args, "--", notAFlag(o.Prompt))
	return inv, nil
}

// claudeLine is a line of claude --output-format stream-json.
type claudeLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Version string `json:"claude_code_version"`
	Model   string `json:"model"`
	Parent  string `json:"parent_tool_use_id"` // of a sub-agent's lines
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   claudeUsage     `json:"usage"`
	} `json:"message"`

	Attempt int             `json:"attempt"`
	Max     int             `json:"max_retries"`
	Status  int             `json:"error_status"`
	Error   json.RawMessage `json:"error"`

	IsError  bool            `json:"is_error"`
	API      int             `json:"api_error_status"`
	Result   string          `json:"result"`
	Errors   json.RawMessage `json:"errors"`
	Turns    int             `json:"num_turns"`
	Cost     float64         `json:"total_cost_usd"`
	Usage    claudeUsage     `json:"usage"`
	Why      string          `json:"terminal_reason"`
	Denials  []claudeDenial  `json:"permission_denials"`
	ToolName string          `json:"tool_name"`
}

type claudeDenial struct {
	ID   string `json:"tool_use_id"`
	Name string `json:"tool_name"`
}

type claudeUsage struct {
	In      int `json:"input_tokens"`
	Created int `json:"cache_creation_input_tokens"`
	Cached  int `json:"cache_read_input_tokens"`
	Out     int `json:"output_tokens"`
}

func (u claudeUsage) all() llm.Usage {
	return llm.Usage{In: u.In + u.Created + u.Cached, Out: u.Out, Cached: u.Cached}
}

type claudeBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	UseID    string          `json:"tool_use_id"`
	IsError  bool            `json:"is_error"`
	Content  json.RawMessage `json:"content"`
}

func (claude) read(s *run, line []byte) {
	var l claudeLine
	if !decode(line, &l) {
		return
	}
	switch l.Type {
	case "system":
		l.system(s)
	case "assistant":
		l.assistant(s)
	case "user":
		for _, b := range blocks(l.Message.Content) {
			if b.Type == "tool_result" {
				l.result(s, b)
			}
		}
	case "result":
		l.end(s)
	}
}

func (l *claudeLine) system(s *run) {
	switch l.Subtype {
	case "init":
		s.identify(l.Session, strings.TrimSpace("claude "+l.Version+" "+l.Model))
	case "api_retry":
		s.retry("attempt %d of %d after %d %s", l.Attempt, l.Max, l.Status, words(l.Error))
	case "permission_denied":
		s.warn("denied: %s", l.ToolName)
	case "compact_boundary":
		s.warn("it summarised its conversation to go on")
	}
}

func (l *claudeLine) assistant(s *run) {
	own := l.Parent == ""
	if own && l.Message.ID != "" && l.Message.ID != s.request && l.Message.Model != "<synthetic>" {
		s.request = l.Message.ID
		s.turn()
		s.interim = s.interim.Add(l.Message.Usage.all())
		s.check()
	}
	for _, b := range blocks(l.Message.Content) {
		switch b.Type {
		case "text":
			if own && l.Message.Model != "<synthetic>" {
				s.text(b.Text)
			}
		case "thinking":
			s.think(b.Thinking)
		case "tool_use":
			s.start(b.ID, b.Name, string(b.Input))
			if p := claudeFile(b); p != "" {
				s.later(b.ID, p)
			}
		}
	}
}

// claudeFile is the file that a call changes if it succeeds.
func claudeFile(b claudeBlock) string {
	switch b.Name {
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
	default:
		return ""
	}
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	decode(b.Input, &in)
	return cmp.Or(in.File, in.Notebook)
}

func (l *claudeLine) result(s *run, b claudeBlock) {
	text, status := words(b.Content), extagent.StatusOK
	var code *int
	if b.IsError {
		status = extagent.StatusError
		if strings.Contains(text, "requested permissions") || strings.Contains(text, "haven't granted") || strings.Contains(text, "has been denied") || strings.Contains(text, "was blocked") {
			status = extagent.StatusDenied
		}
		var n int
		if _, err := fmt.Sscanf(text, "Exit code %d", &n); err == nil {
			code = &n
		}
	}
	s.finish(b.UseID, "", status, code, text)
}

func (l *claudeLine) end(s *run) {
	s.identify(l.Session, s.program)
	s.usage, s.cost = l.Usage.all(), l.Cost
	s.turns = max(s.turns, l.Turns)
	s.denied = max(s.denied, len(l.Denials))
	switch {
	case l.Subtype == "error_max_turns":
		s.stop("turns")
		s.end(nil)
	case l.Subtype == "error_max_budget_usd":
		s.stop("cost")
		s.end(nil)
	case l.IsError, strings.HasPrefix(l.Subtype, "error"):
		message := cmp.Or(l.Result, words(l.Errors), l.Why, l.Subtype)
		f := &fault{kind: extagent.NoResult, message: brief(strings.Join(strings.Fields(message), " "), 500), status: l.API}
		if l.API == 0 {
			f = blame(message)
		}
		if l.Why == "prompt_too_long" {
			f.kind = llm.TooLong
		} else if f.kind == extagent.NoResult || l.API != 0 {
			f = f.judge()
		}
		f.lost = strings.Contains(message, "No conversation found with session ID")
		s.end(f)
	default:
		if s.answer() == "" {
			s.text(l.Result)
		}
		s.end(nil)
	}
}

func (claude) exited(s *run, _ int, stderr string) {
	if s.session == "" && lastLine(stderr) != "" {
		f := blame(lastLine(stderr))
		f.lost = strings.Contains(stderr, "No conversation found with session ID")
		s.end(f)
	}
}

// blocks are the parts of a message, which may be a plain text.
func blocks(raw json.RawMessage) []claudeBlock {
	var list []claudeBlock
	if decode(raw, &list) && list != nil {
		return list
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []claudeBlock{{Type: "text", Text: text}}
	}
	return nil
}

// words is the text in a value that may be a text, a list of texts or blocks.
func words(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var parts []string
	for _, item := range list {
		var b claudeBlock
		if json.Unmarshal(item, &text) == nil {
			parts = append(parts, text)
		} else if decode(item, &b) && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}
