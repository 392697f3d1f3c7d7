package habits

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/anthropic"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/openai"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workflows"
)

var modes = []turn.Mode{turn.Native, turn.Constrained, turn.Text}

// A result is how a job with a weak model went.
type result struct {
	status   string
	done     bool // the workspace is as the task wants it
	requests int
	tokens   int
	wrong    []string // what ran and was not meant
	lost     []string // calls that nobody ran or spoke of
	reason   string
}

// faults lists the violations of conditions that must hold whatever the model does.
func (r result) faults() []string {
	out := slices.Concat(r.wrong, r.lost)
	if r.done && r.status != executor.Done {
		out = append(out, "finished work ends "+r.status+": "+r.reason)
	}
	if !r.done && r.status == executor.Done {
		out = append(out, "work that is not done ends done")
	}
	return out
}

// run has a model with one habit do the task.
func run(t testing.TB, h habit, j *job, mode turn.Mode, wire string) result {
	_, r := runModel(t, h, j, mode, wire, func(*model) {})
	return r
}

func runModel(t testing.TB, h habit, j *job, mode turn.Mode, wire string, with func(*model)) (*server, result) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range j.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, wire, newModel(h, j, dir))
	with(s.model)
	var m llm.Model
	switch wire {
	case "openai":
		m, err = openai.New(openai.Config{BaseURL: s.URL + "/v1", NoStream: true})
	case "ollama":
		m, err = ollama.New(ollama.Config{BaseURL: s.URL, NoStream: true})
	case "anthropic":
		m, err = anthropic.New(anthropic.Config{BaseURL: s.URL, Key: "x"})
	}
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var ran []string
	note := func(next adroit.ToolHandler) adroit.ToolHandler {
		return func(ctx context.Context, c adroit.Invocation) (tools.Result, error) {
			mu.Lock()
			ran = append(ran, c.Tool.Name+" "+string(c.Args))
			mu.Unlock()
			return next(ctx, c)
		}
	}
	rt, err := adroit.Open(t.Context(), adroit.Options{
		Tools: parts.Tools(), Models: map[string]llm.Model{"weak": m}, Model: "weak/weak:7b", Defaults: agents.Defaults{Approve: executor.ApproveAll},
		Definitions: adroit.Definitions{Agents: []agents.Layer{{Name: "built in", FS: configs.Agents()}}, Workflows: workflows.All()},
		Workspace: adroit.Workspace{Dir: dir, Servers: []adroit.LanguageServer{}, TestCommands: map[string]string{"*": "sh test.sh"},
			Sandbox: adroit.SandboxOptions{Level: "off"}},
		Callbacks: adroit.Callbacks{Middleware: []func(adroit.ToolHandler) adroit.ToolHandler{note}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	job, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Agent: cmp.Or(s.model.agent, "builder"), Prompt: j.prompt, Calling: mode, Limits: executor.Limits{Turns: 25}}})
	if err != nil {
		t.Fatal(err)
	}
	state, err := job.Wait(t.Context())
	r := result{done: s.model.done(), requests: s.model.requests, status: "failed"}
	if err != nil {
		r.reason = err.Error()
	}
	if state != nil && state.Outcome != nil {
		r.status, r.reason = state.Outcome.Status, state.Outcome.Reason
	}
	for _, b := range s.bodies {
		r.tokens += len(b) / 4
	}
	r.wrong, r.lost = wrongCalls(h, j, ran, dir), lostCalls(s)
	return s, r
}

// wrongCalls returns calls that ran although the model did not mean them.
func wrongCalls(h habit, j *job, ran []string, dir string) (out []string) {
	meant := []string{"read_file", "search", "edit_file", "write_file", "run_tests", "finish"}
	if h.shell {
		meant = append(meant, "shell")
	}
	for _, c := range ran {
		name, _, _ := strings.Cut(c, " ")
		if !slices.Contains(meant, name) {
			out = append(out, "ran "+c)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return append(out, err.Error())
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if was, ok := j.files[e.Name()]; err != nil || (!ok || string(b) != was) && string(b) != j.right[e.Name()] {
			out = append(out, fmt.Sprintf("changed %s to %q", e.Name(), b))
		}
	}
	for name := range j.files {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			out = append(out, err.Error())
		}
	}
	return out
}

// lostCalls lists calls in the model's answers that the next request does not mention. A request
// that only repeats what is missing does not count as mentioning them.
func lostCalls(s *server) (out []string) {
	for i, a := range s.wrote {
		if len(a.calls) == 0 && !a.said || i+1 == len(s.bodies) {
			continue
		}
		added := s.bodies[i+1]
		if at := commonPrefix(s.bodies[i], added); at > 0 {
			added = added[at:]
		}
		named := false
		for _, word := range []string{".sh", "tool ", "JSON", "argument", "cut off", "ok", "passed", "finished", "not done", ".md", "has changed"} {
			named = named || strings.Contains(added, word)
		}
		if !named {
			out = append(out, fmt.Sprintf("answer %d was passed over", i+1))
		}
	}
	return out
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func key(h habit, j *job, mode turn.Mode, wire string) string {
	return h.name + "/" + j.name + "/" + string(mode) + "/" + wire
}

// TestHabits has weak models do a task: one cell of the matrix in ten by the seed, and
// in make habits all of them.
func TestHabits(t *testing.T) {
	r := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	all := testenv.Night()
	var mu sync.Mutex
	cells := map[string]result{}
	t.Run("cells", func(t *testing.T) {
		for _, h := range table {
			for at := range jobs {
				if at > 0 && !h.worst {
					break
				}
				for _, mode := range modes {
					for _, wire := range servers {
						if !all && r.IntN(10) > 0 {
							continue
						}
						j, name := &jobs[at], key(h, &jobs[at], mode, wire)
						t.Run(name, func(t *testing.T) {
							t.Parallel()
							got := run(t, h, j, mode, wire)
							mu.Lock()
							cells[name] = got
							mu.Unlock()
							for _, f := range got.faults() {
								t.Error(f)
							}
							t.Logf("%s: %s, %d requests, %d tokens", name, got.status, got.requests, got.tokens)
						})
					}
				}
			}
		}
	})
	if all {
		if dir := os.Getenv("ADROIT_PEERS"); dir != "" {
			runPeers(t, dir)
		}
		write(t, cells)
	}
}
