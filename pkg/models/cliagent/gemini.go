package cliagent

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// gemini is Google's. Tools that would need an approval are not offered to its
// model in the narrower modes; its commands are not confined.
type gemini struct{}

func (gemini) keys() []string {
	return []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
		"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_GENAI_USE_VERTEXAI", "GEMINI_MODEL", "GEMINI_CLI_HOME"}
}

func (gemini) command(o invocation) (commandLine, error) {
	mode := "default"
	switch {
	case o.Access.Write && o.Access.Run:
		mode = "yolo"
	case o.Access.Write:
		mode = "auto_edit"
	}
	args := []string{"-o", "stream-json", "--approval-mode", mode}
	if o.Model != "" {
		args = append(args, "-m", o.Model)
	}
	if o.Session != "" {
		args = append(args, "--resume", o.Session)
	}
	inv := commandLine{env: []string{"GEMINI_CLI_TRUST_WORKSPACE=true"}}
	// The user's own settings override these.
	quiet := map[string]any{
		"general":   map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
	}
	if n, ok := whole(o.Limits.Turns); ok {
		quiet["model"] = map[string]any{"maxSessionTurns": n}
	}
	if o.Getenv("GEMINI_CLI_SYSTEM_DEFAULTS_PATH") == "" {
		b, err := json.Marshal(quiet)
		if err != nil {
			return inv, err
		}
		file := filepath.Join(o.Scratch, "defaults.json")
		if err := rootfs.WriteScratch(file, 0o600, b); err != nil {
			return inv, fmt.Errorf("settings for gemini: %w", err)
		}
		inv.env = append(inv.env, "GEMINI_CLI_SYSTEM_DEFAULTS_PATH="+file)
	} else {
		inv.env = append(inv.env, "GEMINI_CLI_SYSTEM_DEFAULTS_PATH="+o.Getenv("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"))
	}
	prompt := o.promptWithSystem()
	if len(prompt) > most {
		inv.stdin, prompt = []byte(prompt), "Do what the text before this says."
	}
	inv.args = append(args, "-p", notAFlag(prompt))
	return inv, nil
}

// geminiLine is a line of gemini -o stream-json.
type geminiLine struct {
	Type       string          `json:"type"`
	Session    string          `json:"session_id"`
	Model      string          `json:"model"`
	Role       string          `json:"role"`
	Content    string          `json:"content"`
	Delta      bool            `json:"delta"`
	ToolName   string          `json:"tool_name"`
	ToolID     string          `json:"tool_id"`
	Parameters json.RawMessage `json:"parameters"`
	Status     string          `json:"status"`
	Output     string          `json:"output"`
	Severity   string          `json:"severity"`
	Message    string          `json:"message"`
	Error      struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		In     int `json:"input_tokens"`
		Out    int `json:"output_tokens"`
		Cached int `json:"cached"`
	} `json:"stats"`
}

func (gemini) read(s *run, line []byte) {
	var l geminiLine
	if !decode(line, &l) {
		return
	}
	switch l.Type {
	case "init":
		s.identify(l.Session, strings.TrimSpace("gemini "+l.Model))
	case "message":
		if l.Role != "assistant" {
			return
		}
		if l.Delta {
			s.piece(l.Content)
		} else {
			s.text(l.Content)
		}
	case "tool_use":
		s.turn()
		s.start(l.ToolID, l.ToolName, string(l.Parameters))
		if l.ToolName == "write_file" || l.ToolName == "replace" {
			var in struct {
				Path string `json:"file_path"`
			}
			decode(l.Parameters, &in)
			s.later(l.ToolID, in.Path)
		}
	case "tool_result":
		status := extagent.StatusUnknown
		switch {
		case l.Status == "error" && strings.Contains(l.Error.Type, "denied"):
			status = extagent.StatusDenied
		case l.Status == "error":
			status = extagent.StatusError
		case l.Status == "success" && s.open[l.ToolID].name != "run_shell_command":
			status = extagent.StatusOK // of a command it says so whatever its exit code was
		}
		s.finish(l.ToolID, l.ToolName, status, nil, l.Output)
	case "error":
		s.warn("%s", l.Message)
		if strings.Contains(strings.ToLower(l.Message), "loop") {
			s.looped = true
		}
	case "result":
		s.turn()
		s.usage = llm.Usage{In: l.Stats.In, Out: l.Stats.Out, Cached: l.Stats.Cached}
		switch {
		case l.Status == "error":
			s.end(geminiFault(l.Error.Type, l.Error.Message))
		case s.looped:
			s.stop("same") // it calls that a success
			s.end(nil)
		default:
			s.end(nil)
		}
	}
}

func geminiFault(kind, message string) *fault {
	if kind == "FatalTurnLimitedError" {
		return &fault{kind: extagent.NoResult, message: message}
	}
	return blame(message)
}

// Exit codes that say more than the stream. Others are a status of HTTP without
// its hundreds.
const (
	geminiNoAuth    = 41
	geminiBadInput  = 42
	geminiTurns     = 53
	geminiUntrusted = 55
)

func (gemini) exited(s *run, code int, stderr string) {
	words := geminiWords(stderr)
	switch code {
	case geminiNoAuth:
		s.end((&fault{kind: llm.Auth, message: brief(words, maxText), status: 401}).judge())
	case geminiBadInput:
		s.end(&fault{kind: llm.BadRequest, message: words, lost: s.began != "" && s.session == ""})
	case geminiTurns:
		s.stop("turns")
	case geminiUntrusted:
		s.end(&fault{kind: llm.BadRequest, message: words, hint: "trust the directory in gemini itself"})
	}
}

// geminiWords returns the error from its standard error: the last line is often a line of
// a stack trace.
func geminiWords(stderr string) string {
	for line := range strings.Lines(stderr) {
		if l := strings.TrimSpace(line); strings.Contains(strings.ToLower(l), "error") {
			return brief(l, maxText)
		}
	}
	return lastLine(stderr)
}
