package adroit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
	"github.com/adroit-run/adroit/pkg/parts"
)

// The task: a package with faults in three files, five failing tests and a
// panic.
const ratesPrompt = "The tests of this package fail. Make them pass; the tests are right."

type edits = map[string][][2]string

// ratesEdits are what makes the tests pass.
var ratesEdits = edits{
	"parse.go": {
		{"\t\"m\": time.Second,", "\t\"m\": time.Minute,"},
		{"strconv.Atoi(count)", "strconv.Atoi(strings.TrimSpace(count))"},
		{"\tunit, ok := units[text[digits:]]\n", "\tif times == 0 {\n\t\treturn 0, errors.New(\"the period is empty\")\n\t}\n\tunit, ok := units[text[digits:]]\n"},
	},
	"limit.go": {
		{"\tif len(l.seen) > l.rate.N {", "\tif len(l.seen) >= l.rate.N {"},
		{"\tif len(l.seen) < l.rate.N {\n\t\treturn 0\n\t}\n", "\tswitch {\n\tcase l.rate.N == 0:\n\t\treturn -1\n\tcase len(l.seen) < l.rate.N:\n\t\treturn 0\n\t}\n"},
		{"now.Sub(l.seen[old]) > l.rate.Per", "now.Sub(l.seen[old]) >= l.rate.Per"},
	},
	"group.go": {{"\t\tl = NewLimiter(g.rate, g.now)\n", "\t\tl = NewLimiter(g.rate, g.now)\n\t\tg.limiters[key] = l\n"}},
}

func callOf(tool string, args any) llm.Call {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return llm.Call{Name: tool, Args: b}
}

func ratesReads() (calls []llm.Call) {
	for _, name := range []string{"parse.go", "limit.go", "group.go", "rates_test.go"} {
		calls = append(calls, callOf("read_file", object{"path": name}))
	}
	return calls
}

type object = map[string]any

// ratesChanges are the edits of the files named.
func ratesChanges(all edits, names ...string) (calls []llm.Call) {
	for _, name := range names {
		var list []object
		for _, e := range all[name] {
			list = append(list, object{"old": e[0], "new": e[1]})
		}
		calls = append(calls, callOf("edit_file", object{"path": name, "edits": list}))
	}
	return calls
}

// TestRatesTokens prints what the task costs a model that knows what to do, by
// how it goes about it, and bounds it: 6,500 tokens (bytes by 4) where it
// finishes with the last change, 10,000 if something fails once. Schemas are strict
// ones, which are the longest. It also holds what the model is not to read.
func TestRatesTokens(t *testing.T) {
	testenv.NeedsProgram(t, "git")
	done := callOf("finish", object{"summary": "All tests pass."})
	edit := ratesChanges(ratesEdits, "parse.go", "limit.go", "group.go")
	missed := edits{"limit.go": {ratesEdits["limit.go"][0], {"\tif len(l.seen) < l.rate.n {\n\t\treturn 0\n\t}\n", ratesEdits["limit.go"][1][1]}, ratesEdits["limit.go"][2]}}
	fails := [][]llm.Call{ratesReads(), append(ratesChanges(ratesEdits, "parse.go", "group.go"), ratesChanges(missed, "limit.go")[0], done),
		append(ratesChanges(ratesEdits, "limit.go"), done)}
	left := [][]llm.Call{ratesReads(), append(ratesChanges(ratesEdits, "parse.go", "limit.go"), done), append(ratesChanges(ratesEdits, "group.go"), done)}
	unneeded := callOf("edit_file", object{"path": "README.md", "old": "what is not there", "new": "what no test needs"})
	for _, c := range []struct {
		name  string
		turns [][]llm.Call
		most  int
		reads []string // what the last request has
	}{
		{"finishes with the last change", [][]llm.Call{ratesReads(), append(edit[:3:3], done)}, 6_500, nil},
		{"an edit does not apply", fails, 10_000,
			[]string{`parse.go +5 -2, lines 23-64`, `it has \"l.rate.n\", the file \"l.rate.N\"`, "finish was not run: edit_file before it failed"}},
		{"a fault is left", left, 10_000, []string{"Not done yet:", "FAIL rates TestGroup (rates_test.go:82)"}},
		{"an edit that no test needs does not apply", [][]llm.Call{ratesReads(), append(edit[:3:3], unneeded, done), {done}}, 10_000, nil},
		{"looks at everything, step by step", [][]llm.Call{{callOf("list_files", object{})}, ratesReads(), edit, {callOf("run_tests", object{})}, {callOf("git_diff", object{})}, {done}}, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := ratesRepository(t)
			p := newPlayer(t, func(req *llm.Request) llmtest.Turn {
				n := answered(req)
				if n >= len(c.turns) || len(req.Tools) == 0 {
					return llmtest.Turn{Text: "I am at a loss."}
				}
				turn := llmtest.Turn{Calls: c.turns[n]}
				for i := range turn.Calls {
					turn.Calls[i].ID = fmt.Sprintf("c%d_%d", n, i)
				}
				return turn
			})
			rt := open(t, adroit.Options{
				Tools: parts.Tools(), Models: map[string]llm.Model{"script": p}, Definitions: adroit.Definitions{Agents: []agents.Layer{{Name: "built in", FS: configs.Agents()}}},
				Workspace: adroit.Workspace{Dir: dir, Servers: []adroit.LanguageServer{}}, Defaults: agents.Defaults{Approve: executor.ApproveAll},
			})
			job, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Agent: "builder", Prompt: ratesPrompt}})
			if err != nil {
				t.Fatal(err)
			}
			requests := p.server.Requests
			s, err := job.Wait(t.Context())
			if err != nil {
				all := requests()
				t.Fatalf("%v\n%s", err, all[len(all)-1].Body)
			}
			if first := string(requests()[0].Body); !strings.Contains(first, `Files: README.md, go.mod, group.go, limit.go, parse.go, rates_test.go\nTests: go test`) {
				t.Errorf("the first request does not describe the workspace: %s", first)
			}
			sent := 0
			for _, r := range requests() {
				sent += len(r.Body)
				for _, noise := range []string{"[artifact", "TASK_COMPLETE", `1\tpackage rates`, "--- FAIL"} {
					if strings.Contains(string(r.Body), noise) {
						t.Errorf("the model reads %q", noise)
					}
				}
			}
			last := string(requests()[len(requests())-1].Body)
			for _, want := range slices.Concat([]string{`- a file was changed\n`, `"content":"package rates\n`}, c.reads) {
				if !strings.Contains(last, want) {
					t.Errorf("the last request lacks %q", want)
				}
			}
			t.Logf("%d requests, %d bytes sent, %d tokens; the first has %d bytes", len(requests()), sent, sent/4, len(requests()[0].Body))
			if s.Turns != len(c.turns) || c.most > 0 && sent/4 > c.most {
				t.Errorf("%d turns, want %d; %d tokens, want at most %d", s.Turns, len(c.turns), sent/4, c.most)
			}
		})
	}
}

func ratesRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/rates")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "Start"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}
