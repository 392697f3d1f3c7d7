package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/sqlite"
	"github.com/adroit-run/adroit/internal/workflows"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools/std"
)

// A mender repairs one fault of a file after another, as check.sh complains about them: it
// reads the file once in a conversation, and has an edit and finish in one answer. It
// counts the bytes that it is sent.
type mender struct {
	mu              sync.Mutex
	requests, bytes int
}

var complaint = regexp.MustCompile(`(\w+\.txt):\d+: error: broken (\w+)`)

func (m *mender) answer(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	b, err := json.Marshal([]any{req.Messages, req.Tools})
	if err != nil {
		return nil, err
	}
	m.bytes += len(b)
	res := &llm.Response{Message: llm.Message{Role: llm.Assistant}}
	call := func(name string, args map[string]string) {
		b, _ := json.Marshal(args) // strings
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
	switch {
	case file == "":
		call("run_tests", nil)
	case !read:
		call("read_file", map[string]string{"path": file})
	default:
		call("edit_file", map[string]string{"path": file, "old": "broken " + word, "new": "works " + word})
		call("finish", map[string]string{"summary": "Repaired " + word + "."})
	}
	return res, nil
}

// TestFixCost holds adroit fix to 1.2 times what the builder takes for the same fault, one
// that is repaired at once and one whose repair shows the next.
func TestFixCost(t *testing.T) {
	for _, words := range [][]string{{"alpha"}, {"alpha", "bravo"}, {"alpha", "bravo", "charlie"}} {
		run := func(r adroit.Request) *mender {
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
				Models: map[string]llm.Model{"script": llm.Func(m.answer)}, Model: "script/x", Tools: std.All(),
				Definitions:  adroit.Definitions{Workflows: workflows.All(), Agents: []agents.Layer{{Name: "built in", FS: configs.Agents(), Dir: "configs/agents"}}},
				Workspace:    adroit.Workspace{Dir: dir, Sandbox: adroit.SandboxOptions{Level: "off"}, NoDiagnostics: true, Servers: []adroit.LanguageServer{}},
				Storage:      adroit.Storage{Data: data, Store: sqlite.Store(data)},
				Coordination: adroit.Coordination{Memory: "off"},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer rt.Close()
			if _, err := rt.Run(ctx, r); err != nil {
				t.Fatalf("%s, %d faults: %v", r.Target, len(words), err)
			}
			return m
		}
		builder := run(adroit.Request{Target: "builder", Input: agents.Input{Prompt: "sh check.sh fails; repair what it complains about.", Test: "sh check.sh", Approve: executor.ApproveAll}})
		fix := run(adroit.Request{Target: "coordinator", Input: agents.Input{Approve: executor.ApproveAll, Inputs: map[string]json.RawMessage{"command": quoted("sh check.sh"), "escalate": quoted("report")}}})
		t.Logf("%d faults: builder %d requests, %d bytes; fix %d requests, %d bytes: %.2f times", len(words), builder.requests, builder.bytes, fix.requests, fix.bytes, float64(fix.bytes)/float64(builder.bytes))
		if fix.requests > builder.requests || 10*fix.bytes > 12*builder.bytes {
			t.Error("fix takes more than 1.2 times what the builder takes")
		}
	}
}
