package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/workflows"
)

// A mender repairs one fault of a file after another, as check.sh complains about them: it
// reads the file once in a conversation, and has an edit and finish in one answer. It
// counts the bytes that it is sent.
type mender struct {
	mu              sync.Mutex
	requests, bytes int
	files           bool // they were named to it
	leaks           []string
}

var complaint = regexp.MustCompile(`(\w+\.txt):\d+: error: broken (\w+)`)

func (m *mender) answer(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	res := &llm.Response{Message: llm.Message{Role: llm.Assistant}}
	b, err := json.Marshal([]any{req.Messages, req.Tools})
	if err != nil {
		return nil, err
	}
	m.bytes += len(b)
	m.leaks = append(m.leaks, internalNames.FindAllString(string(b), -1)...)
	m.files = m.files || strings.Contains(string(b), "Files: all.txt, check.sh")
	call := func(name string, args map[string]any) {
		b, _ := json.Marshal(args) // strings and lists
		res.Message.Calls = append(res.Message.Calls, llm.Call{ID: fmt.Sprintf("c%d", m.requests*10+len(res.Message.Calls)), Name: name, Args: b})
	}
	file, word := "", ""
	for _, msg := range req.Messages {
		for _, c := range complaint.FindAllStringSubmatch(msg.Text, -1) {
			file, word = c[1], c[2]
		}
	}
	read := false
	for _, msg := range req.Messages {
		for _, c := range msg.Calls {
			read = read || c.Name == "read_file"
		}
	}
	last := req.Messages[len(req.Messages)-1].Text
	edited := strings.Contains(string(b), `"edit_file","args"`)
	switch has := func(key string) bool { return strings.Contains(string(req.Output), `"`+key+`"`) }; {
	case has("subtasks"):
		res.Message.Text = `{"subtasks":[{"title":"Repair all.txt","description":"Repair what sh check.sh complains about: all.txt:41: error: broken alpha.","files":["all.txt"]}]}`
	case has("valid"):
		res.Message.Text = `{"valid":true,"problems":[]}`
	case has("approach"):
		res.Message.Text = `{"approach":"Repair the word in all.txt.","large":false}`
	case offers(req, "report_findings") && edited:
		call("finish", nil)
	case offers(req, "report_findings") && strings.Contains(last, "+works"):
		call("report_findings", map[string]any{"summary": "Nothing to change.", "findings": []any{}})
		call("finish", map[string]any{"summary": "REVIEWED: nothing to change."})
	case offers(req, "report_findings"):
		call("git_diff", nil)
	case strings.HasPrefix(last, "Review your changes"):
		res.Message.Text = `{"status":"complete","note":"Repaired."}`
	case strings.HasPrefix(last, "The work on this task is over"):
		res.Message.Text = "all.txt is repaired and the check passes."
	case has("status") && read:
		call("edit_file", map[string]any{"path": file, "old": "broken " + word, "new": "works " + word})
		res.Message.Text = `{"status":"complete","note":"Repaired."}`
	case has("status") && file != "":
		call("read_file", map[string]any{"path": file})
	case file == "":
		call("run_tests", nil)
	case !read:
		call("read_file", map[string]any{"path": file})
	default:
		call("edit_file", map[string]any{"path": file, "old": "broken " + word, "new": "works " + word})
		call("finish", map[string]any{"summary": "Repaired " + word + "."})
	}
	return res, nil
}

// internalNames are names of Go and of criteria that no model has to know.
var internalNames = regexp.MustCompile(`\\?"(Decision|Outcome|Attempt|Why|Repair|Status|Agent)\\?":|satisfies \{|artifact \\?"`)

func offers(req *llm.Request, tool string) bool {
	return slices.ContainsFunc(req.Tools, func(t llm.ToolSpec) bool { return t.Name == tool })
}

// TestSupervisorCost fails if supervisor takes more than 1.5 times as much as the builder for the
// same fault: planned, validated, done by a worker that has its edit and its report in one answer,
// reviewed, summed up.
func TestSupervisorCost(t *testing.T) {
	run := func(r adroit.Request) *mender { return mend(t, r, "alpha") }
	builder := run(adroit.Request{Target: "builder", Input: agents.Input{Prompt: "sh check.sh fails; repair what it complains about.", Test: "sh check.sh", Approve: executor.ApproveAll}})
	all := run(adroit.Request{Target: "supervisor", Input: agents.Input{Prompt: "sh check.sh fails; repair what it complains about.", Test: "sh check.sh", Approve: executor.ApproveAll}})
	t.Logf("builder %d requests, %d bytes; supervisor %d requests, %d bytes: %.2f times", builder.requests, builder.bytes, all.requests, all.bytes, float64(all.bytes)/float64(builder.bytes))
	if leaks := append(builder.leaks, all.leaks...); leaks != nil {
		t.Errorf("the model is shown %q", leaks)
	}
	if 10*all.bytes > 15*builder.bytes {
		t.Error("supervisor takes more than 1.5 times what the builder takes")
	}
}

// TestFixCost fails if adroit fix takes more than 1.2 times as much as the builder for the same
// faults: one repaired at once, and several of which each repair shows the next.
func TestFixCost(t *testing.T) {
	for _, words := range [][]string{{"alpha"}, {"alpha", "bravo"}, {"alpha", "bravo", "charlie"}} {
		run := func(r adroit.Request) *mender { return mend(t, r, words...) }
		builder := run(adroit.Request{Target: "builder", Input: agents.Input{Prompt: "sh check.sh fails; repair what it complains about.", Test: "sh check.sh", Approve: executor.ApproveAll}})
		fix := run(adroit.Request{Target: "coordinator", Input: agents.Input{Approve: executor.ApproveAll, Inputs: map[string]json.RawMessage{"command": quoted("sh check.sh"), "escalate": quoted("report")}}})
		t.Logf("%d faults: builder %d requests, %d bytes; fix %d requests, %d bytes: %.2f times", len(words), builder.requests, builder.bytes, fix.requests, fix.bytes, float64(fix.bytes)/float64(builder.bytes))
		if leaks := append(builder.leaks, fix.leaks...); leaks != nil {
			t.Errorf("the model is shown %q", leaks)
		}
		if !builder.files || !fix.files {
			t.Errorf("the files are named to the builder: %t, to code-fix: %t", builder.files, fix.files)
		}
		if fix.requests > builder.requests || 10*fix.bytes > 12*builder.bytes {
			t.Error("fix takes more than 1.2 times what the builder takes")
		}
	}
}

// mend has a file repaired in which words are broken.
func mend(t *testing.T, r adroit.Request, words ...string) *mender {
	t.Helper()
	ctx, m, dir, data := t.Context(), &mender{}, t.TempDir(), t.TempDir()
	check, text := "", ""
	for i, w := range words {
		text += strings.Repeat("a line of the file that nobody has to change\n", 40) + "broken " + w + "\n"
		check += fmt.Sprintf("grep -q 'works %s' all.txt || { echo 'all.txt:%d: error: broken %s'; exit 1; }\n", w, 41*(i+1), w)
	}
	if err := os.WriteFile(filepath.Join(dir, "all.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "check.sh"), []byte(check), 0o600); err != nil {
		t.Fatal(err)
	}
	rt, err := adroit.Open(ctx, adroit.Options{
		Models: map[string]llm.Model{"script": llm.Func(m.answer)}, Model: "script/x", Tools: parts.Tools(),
		Definitions:  adroit.Definitions{Workflows: workflows.All(), Agents: []agents.Layer{{Name: "built in", FS: configs.Agents(), Dir: "configs/agents"}}},
		Workspace:    adroit.Workspace{Dir: dir, Sandbox: adroit.SandboxOptions{Level: "off"}, NoDiagnostics: true, Servers: []adroit.LanguageServer{}},
		Storage:      adroit.Storage{Data: data, Store: sqlite.Store(data)},
		Coordination: adroit.Coordination{Memory: "off"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	if _, err := adroit.Run(ctx, rt, r); err != nil {
		t.Fatalf("%s, %d faults: %v", r.Target, len(words), err)
	}
	return m
}
