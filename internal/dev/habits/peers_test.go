package habits

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A peer is another program, which the same weak model drives over OpenAI's API.
type peer struct {
	name, version string
	calls         map[string]call
	config        func(home, url string) (path, body string)
	command       func(home string) (args, env []string)
}

var peers = []peer{
	{
		name: "Pi", version: "0.73.1",
		calls: map[string]call{
			"read":   {"read", map[string]any{"path": "calc.sh"}},
			"edit":   {"edit", map[string]any{"path": "calc.sh", "edits": []any{map[string]any{"oldText": wrong, "newText": right}}}},
			"finish": {},
		},
		config: func(home, url string) (string, string) {
			return home + "/models.json", `{"providers":{"weak":{"baseUrl":` + text(url+"/v1") + `,"api":"openai-completions","apiKey":"x","models":[{"id":"weak:7b","contextWindow":32768,"maxTokens":4096}]}}}`
		},
		command: func(home string) ([]string, []string) {
			return []string{"pi", "-p", "--provider", "weak", "--model", "weak:7b", "--no-session", "--no-extensions", "--no-skills", "--offline"}, []string{"PI_CODING_AGENT_DIR=" + home, "PI_OFFLINE=1", "PI_TELEMETRY=0"}
		},
	},
	{
		name: "opencode", version: "1.18.33",
		calls: map[string]call{
			"read":   {"read", map[string]any{"filePath": "calc.sh"}},
			"edit":   {"edit", map[string]any{"filePath": "calc.sh", "oldString": wrong, "newString": right}},
			"finish": {},
		},
		config: func(home, url string) (string, string) {
			return home + "/.config/opencode/opencode.json", `{"model":"weak/weak:7b","small_model":"weak/weak:7b","autoupdate":false,"share":"disabled","provider":{"weak":{"npm":"@ai-sdk/openai-compatible","name":"weak","options":{"baseURL":` + text(url+"/v1") +
				`,"apiKey":"x"},"models":{"weak:7b":{"name":"weak","tool_call":true,"limit":{"context":32768,"output":4096}}}}}}`
		},
		command: func(home string) ([]string, []string) {
			return []string{"opencode", "run", "--auto", "-m", "weak/weak:7b"}, []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
		},
	},
}

// compared are the habits that do not hang on the names of tools.
var compared = []string{
	"arguments in a string", "single quotes", "a comma too many", "no arguments", "the bare object", "a fenced object", "prose around the object",
	"tool_call elements", "the list of the interface", "Action and Action Input", "action and action_input", "the header of its template", "the call in its thoughts",
	"a whole file in a fence", "the same call again and again", "empty answers", "thoughts alone", "it says what it will do", "it asks whether to go on", "an empty answer at the end",
}

const peersFile = "testdata/peers.json"

// runPeers has the peers of the npm packages in a directory do the first task with the habits that
// do not hang on names, and keeps how they ended for the page. It needs them installed:
//
//	npm install opencode-ai@1.18.33 @mariozechner/pi-coding-agent@0.73.1
func runPeers(t *testing.T, dir string) {
	out := map[string]map[string]string{}
	for _, p := range peers {
		for _, h := range append([]habit{{name: "none", does: func(situation) (answer, bool) { return answer{}, false }}}, table...) {
			if h.name != "none" && !slices.Contains(compared, h.name) {
				continue
			}
			got := p.run(t, dir, h)
			t.Logf("%s, %s: %s", p.name, h.name, got)
			if out[h.name] == nil {
				out[h.name] = map[string]string{}
			}
			out[h.name][p.name] = got
		}
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(peersFile, append(b, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run returns the requests that the peer took, with "not done" if the file is not repaired.
func (p *peer) run(t *testing.T, bin string, h habit) string {
	dir, home := t.TempDir(), t.TempDir()
	j := jobs[0]
	j.calls = p.calls
	for name, body := range j.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := newModel(h, &j, dir)
	m.quiet = true
	s := serve(t, "openai", m)
	path, body := p.config(home, s.URL)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	args, env := p.command(home)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "node_modules", ".bin", args[0]), append(args[1:], j.prompt)...)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}, env...)
	cmd.WaitDelay = time.Second
	said, err := cmd.CombinedOutput()
	s.mu.Lock()
	defer s.mu.Unlock()
	end := fmt.Sprint(m.requests)
	if !m.done() {
		end += " not done"
	}
	if ctx.Err() != nil {
		end += ", stopped after 90 s"
	} else if err != nil {
		end += ", ended with an error"
	}
	if m.requests == 0 {
		t.Errorf("%s asked nothing: %v\n%s", p.name, err, said)
	}
	return end
}

// streamed writes an answer of OpenAI's API as events.
func streamed(w io.Writer, whole string) {
	var r struct {
		Choices []struct {
			Message map[string]any `json:"message"`
			Reason  string         `json:"finish_reason"`
		} `json:"choices"`
		Usage any `json:"usage"`
	}
	if json.Unmarshal([]byte(whole), &r) != nil {
		return
	}
	delta := r.Choices[0].Message
	if list, ok := delta["tool_calls"].([]any); ok {
		for i, c := range list {
			c.(map[string]any)["index"] = i
		}
	}
	chunk := func(delta any, reason any, usage any) {
		fmt.Fprintf(w, "data: %s\n\n", text(map[string]any{"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "weak:7b", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}, "usage": usage}))
	}
	chunk(delta, nil, nil)
	chunk(map[string]any{}, r.Choices[0].Reason, r.Usage)
	io.WriteString(w, "data: [DONE]\n\n")
}

// peerTable renders the results of other programs next to ours, "" if there are none.
func peerTable(cells map[string]result) string {
	b, err := os.ReadFile(peersFile)
	if err != nil {
		return ""
	}
	var got map[string]map[string]string
	if json.Unmarshal(b, &got) != nil {
		return ""
	}
	var out strings.Builder
	out.WriteString("\nBeside two other programs, which the same stand-in drove over OpenAI's API with native calls of their own tools (`ADROIT_PEERS=DIR make habits`). They have no word for the end: the stand-in says it in text, and they run no check.\n\n| habit | adroit |")
	for _, p := range peers {
		fmt.Fprintf(&out, " %s %s |", p.name, p.version)
	}
	out.WriteString("\n|---|---|" + strings.Repeat("---|", len(peers)) + "\n")
	for _, name := range append([]string{"none"}, compared...) {
		ours := "3"
		for _, h := range table {
			if c := cells[key(h, &jobs[0], modes[0], "openai")]; h.name == name {
				if ours = fmt.Sprint(c.requests); !c.done {
					ours += " not done"
				}
			}
		}
		fmt.Fprintf(&out, "| %s | %s |", name, ours)
		for _, p := range peers {
			fmt.Fprintf(&out, " %s |", got[name][p.name])
		}
		out.WriteString("\n")
	}
	return out.String()
}
