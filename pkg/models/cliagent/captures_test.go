package cliagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

// streamResult is the result of a stream, in values that a table can hold.
type streamResult struct {
	outcome string // ok, a bound, or the kind of an error
	text    string
	tools   []string // name, what with, status
	files   []string
	usage   llm.Usage
	turns   int
	warned  int // warnings and retries
	session bool
}

// play reads a stream that comes in pieces, as a process that ends with code.
func play(t *testing.T, format string, pieces [][]byte, code int, stderr string, before session) (streamResult, *llm.Response, error) {
	t.Helper()
	a, err := New(Config{Name: format})
	if err != nil {
		t.Fatal(err)
	}
	var h streamResult
	s := &run{usageBefore: before.Total, began: before.ID, limits: mergeLimits(extagent.Limits{}), emit: func(d llm.Delta) {
		if d.Activity == nil {
			return
		}
		switch x := d.Activity; x.Kind {
		case extagent.ToolFinished:
			code := ""
			if x.Code != nil {
				code = fmt.Sprintf(" %d", *x.Code)
			}
			h.tools = append(h.tools, strings.TrimSpace(x.Name+" "+x.Text)+": "+string(x.Status)+code)
		case extagent.FileChanged:
			h.files = append(h.files, x.Name+" "+x.Text)
		case extagent.Warned, extagent.Retried:
			h.warned++
		}
	}}
	w := &watch{run: s, form: a.format, wake: make(chan struct{}, 1)}
	lines := &splitter{line: w.line, long: w.long}
	for _, p := range pieces {
		if n, err := lines.Write(p); n != len(p) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	lines.close()
	if !s.ended && s.stopped == "" {
		a.format.exited(s, code, stderr)
	}
	resp, err := (&opened{a, extagent.Session{}}).answer(s, ending{code: code, stderr: stderr}, "m")
	h.session = s.session != ""
	h.turns = s.turns
	var le *llm.Error
	switch {
	case errors.As(err, &le):
		h.outcome = string(le.Kind)
	case err != nil:
		t.Fatal(err)
	case resp.Work.Stopped != "":
		h.outcome = resp.Work.Stopped
	default:
		h.outcome = "ok"
	}
	if resp != nil {
		h.text, h.usage = resp.Message.Text, resp.Usage
	}
	return h, resp, err
}

func capture(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "captures", filepath.FromSlash(name)+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	made  = "All done: the file was made."
	hello = "echo hello > made.txt; cat made.txt"
	oops  = "echo oops >&2; exit 7"
)

var captures = map[string]struct {
	code   int
	stderr string
	before session
	want   streamResult
}{
	"codex/ok": {want: streamResult{outcome: "ok", text: made, tools: []string{"shell /bin/bash -lc '" + hello + "': ok 0"},
		usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, warned: 1, session: true}},
	"codex/failcmd": {want: streamResult{outcome: "ok", text: made, tools: []string{"shell /bin/bash -lc '" + oops + "': error 7"},
		usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, warned: 1, session: true}},
	// An unknown call appears nowhere in its stream.
	"codex/badtool": {want: streamResult{outcome: "ok", text: made, usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 1, warned: 1, session: true}},
	"codex/err401":  {code: 1, want: streamResult{outcome: "auth", warned: 3, session: true}},
	// Of a session that was taken up only what is new counts.
	"codex/resume": {before: session{"01a1f8bd", llm.Usage{In: 200, Out: 40, Cached: 80}},
		want: streamResult{outcome: "ok", text: made, usage: llm.Usage{In: 100, Out: 20, Cached: 40}, turns: 1, warned: 2, session: true}},
	"codex/sigint": {code: 1, want: streamResult{outcome: "no_result", warned: 1, session: true}},

	"claude/ok":      {want: streamResult{outcome: "ok", text: made, tools: []string{"Bash " + hello + ": ok"}, usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, session: true}},
	"claude/failcmd": {want: streamResult{outcome: "ok", text: made, tools: []string{"Bash " + oops + ": error 7"}, usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, session: true}},
	"claude/badtool": {want: streamResult{outcome: "ok", text: made, tools: []string{`no_such_tool {"x":1}: error`}, usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, session: true}},
	"claude/err401":  {code: 1, want: streamResult{outcome: "auth", turns: 1, warned: 1, session: true}},
	"claude/resume":  {want: streamResult{outcome: "ok", text: made, tools: []string{"Bash " + hello + ": ok"}, usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, session: true}},
	"claude/sigint":  {code: 0, want: streamResult{outcome: "no_result", session: true}}, // its exit code is 0

	// It says success of a command whatever its exit code was.
	"gemini/ok":      {want: streamResult{outcome: "ok", text: made, tools: []string{"run_shell_command " + hello + ": unknown"}, usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, session: true}},
	"gemini/failcmd": {want: streamResult{outcome: "ok", text: made, tools: []string{"run_shell_command " + oops + ": unknown"}, usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, session: true}},
	"gemini/badtool": {want: streamResult{outcome: "ok", text: made, tools: []string{`no_such_tool {"x":1}: error`}, usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, session: true}},
	"gemini/err401":  {code: 145, want: streamResult{outcome: "auth", turns: 1, session: true}},
	"gemini/resume":  {want: streamResult{outcome: "ok", text: made, usage: llm.Usage{In: 100, Out: 20, Cached: 40}, turns: 1, session: true}},
	"gemini/sigint":  {code: 0, want: streamResult{outcome: "no_result", session: true}},

	"opencode/ok":      {want: streamResult{outcome: "ok", text: made, tools: []string{"bash " + hello + ": ok 0"}, usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, session: true}},
	"opencode/failcmd": {want: streamResult{outcome: "ok", text: made, tools: []string{"bash " + oops + ": error 7"}, usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, session: true}},
	"opencode/badtool": {want: streamResult{outcome: "ok", text: made, tools: []string{"invalid …: error"}, usage: llm.Usage{In: 200, Out: 40, Cached: 80}, turns: 2, session: true}},
	"opencode/err401":  {code: 1, want: streamResult{outcome: "auth", session: true}},
	"opencode/resume":  {want: streamResult{outcome: "ok", text: made, usage: llm.Usage{In: 100, Out: 20, Cached: 40}, turns: 1, session: true}},
}

func differs(got, want streamResult) bool {
	for i := range min(len(got.tools), len(want.tools)) {
		if head, tail, ok := strings.Cut(want.tools[i], "…"); ok && strings.HasPrefix(got.tools[i], head) && strings.HasSuffix(got.tools[i], tail) {
			got.tools[i] = want.tools[i]
		}
	}
	return got.outcome != want.outcome || got.text != want.text || !slices.Equal(got.tools, want.tools) || !slices.Equal(got.files, want.files) ||
		got.usage != want.usage || got.turns != want.turns || got.warned != want.warned || got.session != want.session
}

// Every captured stream of the real programs, whole and without its last line.
func TestCaptures(t *testing.T) {
	var files []string
	for _, cli := range Known() {
		found, err := filepath.Glob("testdata/captures/" + cli + "/*.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) != len(captures) {
		t.Fatalf("%d captures and %d expectations", len(files), len(captures))
	}
	for name, c := range captures {
		t.Run(name, func(t *testing.T) {
			format, _, _ := strings.Cut(name, "/")
			stream := capture(t, name)
			got, _, _ := play(t, format, [][]byte{stream}, c.code, c.stderr, c.before)
			if differs(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			lines := strings.SplitAfter(strings.TrimSuffix(string(stream), "\n"), "\n")
			if c.want.outcome != "ok" || format == "opencode" && len(lines) < 2 {
				return
			}
			cut, _, _ := play(t, format, [][]byte{[]byte(strings.Join(lines[:len(lines)-1], ""))}, 0, "", c.before)
			if cut.outcome != string(extagent.NoResult) {
				t.Errorf("without its last line and with exit code 0 it is %q", cut.outcome)
			}
		})
	}
}

// A stream is the same in whatever pieces it comes, also in the middle of a
// rune.
func TestPieces(t *testing.T) {
	for name := range captures {
		format, file, _ := strings.Cut(name, "/")
		if file != "ok" {
			continue
		}
		t.Run(format, func(t *testing.T) {
			stream := []byte(strings.ReplaceAll(string(capture(t, name)), "All done", "Größe ✓ 世界"))
			whole, _, err := play(t, format, [][]byte{stream}, 0, "", session{})
			if err != nil || !strings.Contains(whole.text, "Größe ✓ 世界") {
				t.Fatalf("%+v, %v", whole, err)
			}
			for i := range stream {
				if got, _, _ := play(t, format, [][]byte{stream[:i], stream[i:]}, 0, "", session{}); differs(got, whole) {
					t.Fatalf("cut at byte %d it is %+v, whole it is %+v", i, got, whole)
				}
			}
			var bytes [][]byte
			for i := range stream {
				bytes = append(bytes, stream[i:i+1])
			}
			if got, _, _ := play(t, format, bytes, 0, "", session{}); differs(got, whole) {
				t.Errorf("byte by byte it is %+v, whole it is %+v", got, whole)
			}
		})
	}
}

// The known traps of the streams that no capture has.
func TestTraps(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for name, c := range map[string]struct {
		format string
		stream string
		code   int
		stderr string
		before session
		want   streamResult
	}{
		"codex changes files": {"codex", `{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"id":"1","type":"file_change","status":"completed","changes":[{"path":"/w/a.go","kind":"add"},{"path":"/w/b.go","kind":"delete"}]}}
{"type":"item.completed","item":{"id":"2","type":"file_change","status":"failed","changes":[{"path":"/w/c.go","kind":"update"}]}}
{"type":"item.completed","item":{"id":"3","type":"agent_message","text":"ok"}}
{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":1}}`, 0, "", session{},
			streamResult{outcome: "ok", text: "ok", tools: []string{"apply_patch /w/a.go /w/b.go: ok", "apply_patch /w/c.go: error"}, files: []string{"add /w/a.go", "delete /w/b.go"},
				usage: llm.Usage{In: 5, Out: 1}, turns: 3, session: true}},
		"codex says a text twice when its stream is cut": {"codex", `{"type":"thread.started","thread_id":"t"}
{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"half"}}
{"type":"error","message":"Reconnecting... 1/5 (stream disconnected)"}
{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"half"}}
{"type":"turn.completed","usage":{}}`, 0, "", session{}, streamResult{outcome: "ok", text: "half", turns: 2, warned: 1, session: true}},
		"codex declines a command": {"codex", `{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"rm x","exit_code":null,"status":"declined"}}
{"type":"turn.completed","usage":{}}`, 0, "", session{}, streamResult{outcome: "ok", tools: []string{"shell rm x: denied"}, turns: 1}},
		"codex is out of context":      {"codex", `{"type":"turn.failed","error":{"message":"Your input exceeds the context window of this model."}}`, 1, "", session{}, streamResult{outcome: "too_long"}},
		"codex is refused for rate":    {"codex", `{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}`, 1, "", session{}, streamResult{outcome: "rate_limit"}},
		"codex finds no server":        {"codex", `{"type":"turn.failed","error":{"message":"error sending request for url (http://127.0.0.1:1/v1/responses)"}}`, 1, "", session{}, streamResult{outcome: "unreachable"}},
		"codex meets a broken server":  {"codex", `{"type":"turn.failed","error":{"message":"unexpected status 500 Internal Server Error"}}`, 1, "", session{}, streamResult{outcome: "overloaded"}},
		"an unknown failure is no one": {"codex", `{"type":"turn.failed","error":{"message":"the moon is full"}}`, 1, "", session{}, streamResult{outcome: "no_result"}},
		"unknown lines and types, and keys in another order": {"claude", `{"type":"telemetry","x":[1,2]}
not json at all
{"broken
{"uuid":"u","session_id":"s","subtype":"init","type":"system","model":5}
{"message":{"content":"plain words","id":"m1"},"type":"assistant"}
{"num_turns":1,"usage":{"output_tokens":2,"input_tokens":3},"is_error":false,"result":"plain words","type":"result","subtype":"success","duration_ms":"soon"}`, 0, "", session{},
			streamResult{outcome: "ok", text: "plain words", usage: llm.Usage{In: 3, Out: 2}, turns: 1, warned: 1, session: true}},
		"a line of 200 kB": {"claude", `{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"` + long + `"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"x"}`, 0, "", session{}, streamResult{outcome: "ok", text: long, turns: 1}},
		"claude reaches its own limit of turns": {"claude", `{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":3,"session_id":"s"}`, 1, "", session{}, streamResult{outcome: "turns", turns: 3, session: true}},
		"claude reaches its own budget":         {"claude", `{"type":"result","subtype":"error_max_budget_usd","is_error":true,"total_cost_usd":2}`, 1, "", session{}, streamResult{outcome: "cost"}},
		"claude's prompt is too long":           {"claude", `{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"Prompt is too long","terminal_reason":"prompt_too_long"}`, 1, "", session{}, streamResult{outcome: "too_long"}},
		"claude is refused for rate":            {"claude", `{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"API Error: 429"}`, 1, "", session{}, streamResult{outcome: "rate_limit"}},
		"claude is denied a tool": {"claude", `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"u1","name":"Bash","input":{"command":"rm x"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"u1","is_error":true,"content":"Claude requested permissions to use Bash, but you haven't granted it yet."}]}}
{"type":"result","subtype":"success","is_error":false,"result":"no","permission_denials":[{"tool_name":"Bash","tool_use_id":"u1"}]}`, 0, "", session{},
			streamResult{outcome: "ok", text: "no", tools: []string{"Bash rm x: denied"}, turns: 1}},
		"claude edits and a sub-agent writes text": {"claude", `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"u1","name":"Edit","input":{"file_path":"/w/a.go","old_string":"a","new_string":"b"}}]}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"u1","content":[{"type":"text","text":"edited"}]}]}}
{"type":"assistant","parent_tool_use_id":"u9","message":{"id":"m2","content":[{"type":"text","text":"I am only a sub-agent"}]}}
{"type":"assistant","message":{"id":"m3","content":[{"type":"text","text":"done"}]}}
{"type":"result","subtype":"success","is_error":false,"result":"done"}`, 0, "", session{},
			streamResult{outcome: "ok", text: "done", tools: []string{"Edit /w/a.go: ok"}, files: []string{"update /w/a.go"}, turns: 2}},
		"gemini finds a loop of its own and calls that a success": {"gemini", `{"type":"init","session_id":"s","model":"m"}
{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}
{"type":"result","status":"success","stats":{"input_tokens":9,"output_tokens":3}}`, 0, "", session{}, streamResult{outcome: "same", usage: llm.Usage{In: 9, Out: 3}, turns: 1, warned: 1, session: true}},
		"gemini writes a file": {"gemini", `{"type":"tool_use","tool_name":"write_file","tool_id":"1","parameters":{"file_path":"b.txt","content":"x"}}
{"type":"tool_result","tool_id":"1","status":"success","output":""}
{"type":"message","role":"assistant","content":"do","delta":true}
{"type":"message","role":"assistant","content":"ne","delta":true}
{"type":"result","status":"success","stats":{}}`, 0, "", session{}, streamResult{outcome: "ok", text: "done", tools: []string{"write_file b.txt: ok"}, files: []string{"update b.txt"}, turns: 2}},
		"gemini passes its limit of turns": {"gemini", `{"type":"init","session_id":"s"}`, 53, "FatalTurnLimitedError: Reached max session turns", session{}, streamResult{outcome: "turns", session: true}},
		"gemini is not logged in":          {"gemini", ``, 41, "Please set an Auth method in your settings", session{}, streamResult{outcome: "auth"}},
		"opencode is refused a permission and stops": {"opencode", `{"type":"tool_use","sessionID":"s","part":{"tool":"bash","callID":"c","state":{"status":"error","input":{"command":"rm x"},"error":"The user rejected permission to use this specific tool call."}}}
{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls","tokens":{"input":1,"output":1}}}`, 0, "", session{},
			streamResult{outcome: "no_result", tools: []string{"bash rm x: denied"}, turns: 1, session: true}},
		"opencode ends with calls and code 0": {"opencode", `{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls","tokens":{"input":1,"output":1}}}`, 0, "", session{}, streamResult{outcome: "no_result", turns: 1, session: true}},
		"opencode does not know the model":    {"opencode", `{"type":"error","timestamp":1,"sessionID":"s","error":{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details.","ref":"err_00111007"}}}`, 1, "", session{}, streamResult{outcome: "no_model", session: true}},
		"opencode fails at its work": {"opencode", `{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls","tokens":{"input":1,"output":1}}}
{"type":"error","sessionID":"s","error":{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details."}}}`, 1, "", session{}, streamResult{outcome: "no_result", turns: 1, session: true}},
		"opencode's server is busy": {"opencode", `{"type":"error","sessionID":"s","error":{"name":"APIError","data":{"message":"Internal server error","statusCode":500}}}`, 1, "", session{}, streamResult{outcome: "overloaded", session: true}},
		"opencode stops and fails":  {"opencode", `{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}`, 1, "", session{}, streamResult{outcome: "no_result", turns: 1, session: true}},
		"nothing at all":            {"codex", ``, 0, "", session{}, streamResult{outcome: "no_result"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, _ := play(t, c.format, [][]byte{[]byte(c.stream)}, c.code, c.stderr, c.before)
			if differs(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// A line that is too long is left out; those around it are not.
func TestEndlessLine(t *testing.T) {
	var lines []string
	long := 0
	s := &splitter{line: func(b []byte) { lines = append(lines, string(b)) }, long: func() { long++ }}
	s.Write([]byte("one\n"))
	piece := []byte(strings.Repeat("x", 1<<20))
	for range 40 {
		s.Write(piece)
	}
	s.Write([]byte("\ntwo\nthree"))
	s.close()
	if got := strings.Join(lines, " "); got != "one two three" || long != 1 {
		t.Errorf("lines %q, %d too long", got, long)
	}
	if cap(s.rest) > maxLine {
		t.Errorf("kept %d bytes", cap(s.rest))
	}
}

func TestLoopDetector(t *testing.T) {
	for name, c := range map[string]struct {
		calls  string
		same   int
		closed bool
	}{
		"the same call":          {"aaaa", 4, true},
		"not yet":                {"aaa", 4, false},
		"with something between": {"aaabaaa", 4, false},
		"two in turn":            {"xabababab", 4, true},
		"two in turn, not yet":   {"abababa", 4, false},
		"three in turn":          {"abcabcabcabc", 4, true},
		"without a bound":        {strings.Repeat("a", 100), -1, false},
	} {
		var x loopDetector
		closed := false
		for _, call := range c.calls {
			closed = x.add(string(call), c.same) || closed
		}
		if closed != c.closed {
			t.Errorf("%s: %v", name, closed)
		}
	}
}

// What is not there is said, with how to get it.
func TestMissingProgram(t *testing.T) {
	a, err := New(Config{Name: "codex", Command: []string{"no-such-codex-anywhere"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Open(extagent.Session{Dir: t.TempDir()}).Generate(context.Background(), &llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "x"}}}, nil)
	var le *llm.Error
	switch {
	case !errors.As(err, &le):
		t.Errorf("errors.As(err, &le) is false: %v, %+v", err, le)
	case le.Kind != extagent.NoProgram:
		t.Errorf("le.Kind is %v, want %v: %v, %+v", le.Kind, extagent.NoProgram, err, le)
	case le.Retryable():
		t.Errorf("le.Retryable() is true: %v, %+v", err, le)
	case !strings.Contains(le.Hint, "cli: codex"):
		t.Errorf(`le.Hint lacks "cli: codex": %v, %+v`, err, le)
	}
}

// FuzzStreams holds that no line makes a reader fail.
func FuzzStreams(f *testing.F) {
	for name := range captures {
		b, err := os.ReadFile(filepath.Join("testdata", "captures", filepath.FromSlash(name)+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, format := range Known() {
			h, resp, err := play(t, format, [][]byte{b}, 0, "", session{})
			if (resp == nil) == (err == nil) || h.usage.In < 0 && resp != nil {
				t.Errorf("%s: %+v, %v", format, resp, err)
			}
		}
	})
}

// What CLI agents print as they fail, in the words of several of their releases.
func TestBlame(t *testing.T) {
	for _, c := range []struct{ words, kind string }{
		{"Invalid API key · Please run /login", "auth"},
		{"Claude AI usage limit reached|1735689600", "rate_limit"},
		{"You've hit your limit · resets 3pm (UTC)", "rate_limit"},
		{"5-hour limit reached ∙ resets 3am", "rate_limit"},
		{"Credit balance is too low", "auth"},
		{"API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}", "overloaded"},
		{"Prompt is too long", "too_long"},
		{"API Error: Connection error.", "unreachable"},
		{"API Error: Request timed out.", "timeout"},
		{"OAuth token revoked · Please run /login", "auth"},
		{"Your organization has been disabled.", "auth"},
		{"There's an issue with the selected model (claude-9). It may not exist or you may not have access to it.", "no_model"},
		{"You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing) or try again in 3 days 4 hours 9 minutes.", "rate_limit"},
		{"stream disconnected before completion: stream closed before response.completed", "cut"},
		{"unexpected status 401 Unauthorized: Missing bearer or basic authentication in header", "auth"},
		{"exceeded retry limit, last status: 429 Too Many Requests", "rate_limit"},
		{"unexpected status 400 Bad Request: {\"detail\":\"The 'gpt-9' model is not supported when using Codex with a ChatGPT account.\"}", "no_model"},
		{"Codex ran out of room in the model's context window. Start a new conversation or clear earlier history before retrying.", "too_long"},
		{"error sending request for url (https://chatgpt.com/backend-api/codex/responses)", "unreachable"},
		{"Quota exceeded. Check your plan and billing details.", "rate_limit"},
		{"Please set an Auth method in your /root/.gemini/settings.json or specify one of the following environment variables before running: GEMINI_API_KEY, GOOGLE_GENAI_USE_VERTEXAI, GOOGLE_GENAI_USE_GCA", "auth"},
		{"[API Error: You exceeded your current quota, please check your plan and billing details.]", "rate_limit"},
		{"This client is no longer supported for Gemini Code Assist for individuals: IneligibleTierError", "auth"},
		{"ProviderModelNotFoundError: ProviderModelNotFoundError", "no_model"},
		{"Error: Unable to connect. Is the computer able to access the url?", "unreachable"},
		{"AI_APICallError: Insufficient balance", "auth"},
		{"Selected model is at capacity. Please try a different model.", "overloaded"},
		{"getaddrinfo EAI_AGAIN api.anthropic.com", "unreachable"},
		{"read ECONNRESET", "cut"},
		{"SELF_SIGNED_CERT_IN_CHAIN", "unreachable"},
		{"self signed certificate in certificate chain", "unreachable"},
		{"This request would exceed your account's rate limit. Please try again later.", "rate_limit"},
		{"socket hang up", "cut"},
		{"Model not found: acme/none. Did you mean: acme/one?", "no_model"},
		{"Your access token could not be refreshed because your refresh token was already used. Please log out and sign in again.", "auth"},
	} {
		if f := blame(c.words); string(f.kind) != c.kind {
			t.Errorf("%.100q is %s, want %s", c.words, f.kind, c.kind)
		}
	}
}
