package cliagent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

// opencode needs no terminal event: its stream has none. Denied tools are not offered to
// its model; its commands are not confined.
type opencode struct{}

func (opencode) keys() []string {
	return []string{"OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
		"GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY", "OLLAMA_HOST"}
}

func (opencode) command(o invocation) (commandLine, error) {
	allow := func(may bool) string {
		if may {
			return "allow"
		}
		return "deny"
	}
	conf := map[string]any{}
	if own := o.Getenv("OPENCODE_CONFIG_CONTENT"); own != "" {
		if err := json.Unmarshal([]byte(own), &conf); err != nil {
			return commandLine{}, fmt.Errorf("OPENCODE_CONFIG_CONTENT: %w", err)
		}
	}
	conf["share"], conf["autoupdate"] = "disabled", false
	conf["permission"] = map[string]string{
		"edit": allow(o.Access.Write), "bash": allow(o.Access.Write && o.Access.Run), "webfetch": allow(o.Access.Net), "websearch": allow(o.Access.Net),
		"external_directory": "deny", "doom_loop": "deny", "question": "deny",
	}
	b, err := json.Marshal(conf)
	if err != nil {
		return commandLine{}, err
	}
	args := []string{"run", "--format", "json", "--title", "adroit"}
	if o.Model != "" {
		args = append(args, "-m", o.Model)
	}
	if o.Effort != "" {
		args = append(args, "--variant", string(o.Effort))
	}
	if o.Session != "" {
		args = append(args, "-s", o.Session)
	}
	inv := commandLine{env: []string{"OPENCODE_CONFIG_CONTENT=" + string(b), "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}}
	prompt := o.promptWithSystem()
	if len(prompt) > most {
		inv.args, inv.stdin = args, []byte(prompt)
		return inv, nil
	}
	inv.args = append(args, "--", notAFlag(prompt))
	return inv, nil
}

// opencodeLine is a line of opencode run --format json.
type opencodeLine struct {
	Type    string `json:"type"`
	Session string `json:"sessionID"`
	Part    struct {
		Text   string `json:"text"`
		Tool   string `json:"tool"`
		CallID string `json:"callID"`
		State  struct {
			Status   string          `json:"status"`
			Input    json.RawMessage `json:"input"`
			Output   string          `json:"output"`
			Error    string          `json:"error"`
			Metadata struct {
				Exit *int `json:"exit"`
			} `json:"metadata"`
		} `json:"state"`
		Reason string  `json:"reason"`
		Cost   float64 `json:"cost"`
		Tokens struct {
			In        int `json:"input"`
			Out       int `json:"output"`
			Reasoning int `json:"reasoning"`
			Cache     struct {
				Read  int `json:"read"`
				Write int `json:"write"`
			} `json:"cache"`
		} `json:"tokens"`
	} `json:"part"`
	Error struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
			Status  int    `json:"statusCode"`
		} `json:"data"`
	} `json:"error"`
}

func (opencode) read(s *run, line []byte) {
	var l opencodeLine
	if !decode(line, &l) {
		return
	}
	s.identify(l.Session, "opencode")
	p := &l.Part
	switch l.Type {
	case "text":
		s.text(p.Text)
	case "reasoning":
		s.think(p.Text)
	case "tool_use":
		l.tool(s)
	case "step_finish":
		t := p.Tokens
		s.reason = p.Reason
		s.spend(llm.Usage{In: t.In + t.Cache.Read + t.Cache.Write, Out: t.Out + t.Reasoning, Cached: t.Cache.Read}, p.Cost)
		s.turn()
	case "error":
		f := &fault{kind: extagent.NoResult, message: brief(strings.Join(strings.Fields(l.Error.Name+": "+l.Error.Data.Message), " "), 500), status: l.Error.Data.Status}
		if s.pending = f.judge(); l.Error.Name == "UnknownError" && f.status == 0 && strings.HasPrefix(l.Error.Data.Message, "Unexpected server error") {
			// The server meant is the program itself: it fails so before its first
			// step if it does not know the model. Nobody is busy.
			if f.kind = extagent.NoResult; s.turns == 0 && !s.acted {
				f.kind, f.hint = llm.NoModel, "opencode fails so if it does not know the model or its provider is not set up: opencode models lists those it knows"
			}
		}
	}
}

func (l *opencodeLine) tool(s *run) {
	p := &l.Part
	code := p.State.Metadata.Exit
	status, said := extagent.StatusOK, p.State.Output
	switch {
	case p.State.Status == "error":
		status, said = extagent.StatusError, p.State.Error
		if strings.Contains(said, "rejected permission") || strings.Contains(said, "prevents you from using") {
			status = extagent.StatusDenied
		}
	case p.Tool == "invalid", code != nil && *code != 0:
		status = extagent.StatusError
	}
	s.start(p.CallID, p.Tool, string(p.State.Input))
	if p.Tool == "write" || p.Tool == "edit" {
		var in struct {
			Path string `json:"filePath"`
		}
		decode(p.State.Input, &in)
		s.later(p.CallID, in.Path)
	}
	s.finish(p.CallID, p.Tool, status, code, said)
}

func (opencode) exited(s *run, code int, stderr string) {
	switch {
	case s.pending != nil:
		s.end(s.pending)
	case code == 0 && s.reason == "stop":
		s.end(nil)
	case code == 0 && s.reason == "tool-calls" && s.denied > 0:
		s.end(&fault{kind: extagent.NoResult, message: "it stopped after a permission was refused, without an answer"})
	case code != 0 && code < 128 && s.reason == "":
		words := lastLine(stderr)
		if strings.Contains(stderr, "Session not found") || strings.Contains(stderr, "NotFoundError") && s.began != "" {
			s.end(&fault{kind: extagent.NoResult, message: words, lost: true})
		} else if words != "" {
			s.end(blame(words))
		}
	}
}
