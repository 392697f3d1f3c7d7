package adroit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A policy in code allows, asks and denies where rules are judged; a call that a person
// approved it is not asked about again.
func TestPolicy(t *testing.T) {
	dir := t.TempDir()
	asked := map[string]int{}
	write := func(name string) string {
		return fmt.Sprintf("  - calls: [{name: write_file, args: {path: %s, content: hi}}]\n", name)
	}
	rt := runtime(t, "turns:\n"+write("free.txt")+write("asked.txt")+write("never.txt")+write("ruled.txt")+
		"  - {expect: {tool: write_file, contains: a rule}, text: Done.}", Options{
		Tools: []tools.Tool{writeFile}, Workspace: Workspace{Dir: dir},
		Defaults: agents.Defaults{Rules: []permit.Rule{{Tool: "write_file", Path: "ruled.txt", Do: permit.Deny, Why: "a rule"}}},
		Callbacks: Callbacks{Policy: func(_ context.Context, p Invocation) permit.Verdict {
			for _, name := range []string{"free", "asked", "never", "ruled"} {
				if strings.Contains(string(p.Args), name) {
					asked[name]++
				}
			}
			switch {
			case strings.Contains(string(p.Args), "asked"):
				return permit.Verdict{Do: permit.Ask, Why: "the policy wants a look"}
			case strings.Contains(string(p.Args), "never"):
				return permit.Verdict{Do: "perhaps"}
			}
			return permit.Verdict{Do: permit.Allow}
		}},
	})
	job, err := Start(t.Context(), rt, Request{Input: agents.Input{Approve: executor.ApproveAsk, Prompt: "x",
		Spec: &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p", Tools: []string{"write_file"}}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = job.Wait(t.Context())
	if e := new(StatusError); !errors.As(err, &e) || e.Job.Status != jobs.Waiting {
		t.Fatalf("it ends with %v", err)
	}
	qs, err := job.Questions(t.Context())
	if err != nil || len(qs) != 1 || !strings.Contains(string(qs[0].About), "the policy wants a look") {
		t.Fatalf("it asks %+v, %v", qs, err)
	}
	if err := job.Approve(t.Context(), qs[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := job.Start(t.Context(), StartOptions{}); err != nil {
		t.Fatal(err)
	}
	if s, err := job.Wait(t.Context()); err != nil || s.Last != "Done." {
		t.Fatalf("%+v, %v", s, err)
	}
	for name, want := range map[string]bool{"free": true, "asked": true, "never": false, "ruled": false} {
		if _, err := os.Stat(filepath.Join(dir, name+".txt")); (err == nil) != want {
			t.Errorf("%s.txt: %v", name, err)
		}
	}
	if asked["asked"] != 1 || asked["ruled"] != 0 {
		t.Errorf("the policy was asked %v", asked)
	}
}

// A tool gets its secrets, and neither its model nor its job sees them; without one the call
// is not made, and the doctor names it.
func TestToolSecrets(t *testing.T) {
	const name = "ACME_PIN"
	calls := 0
	pay := tools.New(tools.Metadata{Name: "pay", Description: "Pay.", Needs: tools.Net, Secrets: []string{name}},
		func(_ context.Context, env *tools.Env, _ struct{}) (string, error) {
			calls++
			return "paid with " + env.Secrets[name], nil
		})
	r := Request{Input: agents.Input{Prompt: "x", Approve: executor.ApproveAll, Spec: &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p", Tools: []string{"pay"}}}}
	t.Setenv(name, "eleven elephants")
	rt := runtime(t, "turns:\n  - calls: [{name: pay}]\n  - {expect: {contains: paid with}, text: Done.}", Options{Tools: []tools.Tool{pay}})
	s, err := Run(t.Context(), rt, r)
	if err != nil || calls != 1 {
		t.Fatalf("%d calls: %v", calls, err)
	}
	tr, err := rt.Transcript(t.Context(), "last")
	if text := fmt.Sprintf("%+v %+v", tr, s); err != nil || strings.Contains(text, "elephants") || !strings.Contains(text, "paid with") {
		t.Errorf("the job has %s, %v", text, err)
	}
	found := func() string {
		list, err := rt.Doctor(t.Context(), DoctorQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(list)
	}
	if strings.Contains(found(), name) {
		t.Error("the doctor misses what is set")
	}
	os.Unsetenv(name)
	if !strings.Contains(found(), name+" is not set in the environment") {
		t.Errorf("the doctor does not name it: %s", found())
	}
	rt = runtime(t, "turns:\n  - calls: [{name: pay}]\n  - {expect: {contains: has not set ACME_PIN}, text: Done.}", Options{Tools: []tools.Tool{pay}})
	if _, err := Run(t.Context(), rt, r); err != nil || calls != 1 {
		t.Errorf("without the secret, %d calls: %v", calls, err)
	}
}

// The result of a run has the type that the program names, and the model its schema.
func TestRunAs(t *testing.T) {
	type report struct {
		Words int    `json:"words" jsonschema:"description=How many"`
		Title string `json:"title"`
	}
	spec := &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p"}
	rt := runtime(t, "turns:\n  - text: '{\"words\": \"many\"}'\n  - text: '{\"words\": 4, \"title\": \"Fox\"}'", Options{})
	if got, err := RunAs[report](t.Context(), rt, Request{Input: agents.Input{Spec: spec, Prompt: "x"}}); err != nil || got != (report{4, "Fox"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if spec.Output != nil {
		t.Error("the caller's agent was changed")
	}
	rt = runtime(t, "turns:\n  - text: Hello.", Options{})
	if got, err := RunAs[string](t.Context(), rt, Request{Input: agents.Input{Spec: spec, Prompt: "x"}}); err != nil || got != "Hello." {
		t.Errorf("%q, %v", got, err)
	}
}

// numbered is tool servers of which only the number matters.
type numbered struct {
	turn.Servers
	n int
}

func (l numbered) List(turn.Scope) ([]turn.Info, error) { return make([]turn.Info, l.n), nil }

// What runs beside a job has open files, too: fewer jobs run at once.
func TestFilesOfPrograms(t *testing.T) {
	bare, lsp := Options{Workspace: Workspace{NoDiagnostics: true}}, Options{}
	if a, b := filesOf(bare), filesOf(lsp); a >= b {
		t.Errorf("%d files without a language server, %d with one", a, b)
	}
	with := Options{ToolServers: numbered{n: 3}}
	if a, b := filesOf(lsp), filesOf(with); b != a+3*filesOfProgram {
		t.Errorf("%d files without tool servers, %d with three", a, b)
	}
}
