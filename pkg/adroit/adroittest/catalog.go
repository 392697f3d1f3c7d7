package adroittest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/permit"
	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

// The catalogs list what requests may name, and what the project brings only if
// it is trusted.
func testCatalog(t *testing.T, f *fixture) {
	must(t, os.MkdirAll(filepath.Join(f.dir, configs.AgentsDir), 0o755))
	must(t, os.WriteFile(filepath.Join(f.dir, configs.AgentsDir, "own.md"), []byte(strings.Replace(writer, "Write a file", "Its own", 1)), 0o644))
	f.skill(t)
	for trusted, want := range map[bool]int{false: 1, true: 2} {
		in := adroit.Scope{Dir: f.dir, Trust: trusted}
		all, err := f.Agents(t.Context(), in)
		must(t, err)
		skills, err := f.Skills(t.Context(), in)
		must(t, err)
		if len(all.Items) != want || len(skills.Items) != want-1 {
			t.Errorf("trusted %v: %+v, %+v", trusted, all, skills)
		}
	}
	pipelines, err := f.Pipelines(t.Context(), adroit.Scope{})
	must(t, err)
	if len(pipelines.Items) != 1 || pipelines.Items[0].Name != "greet" || pipelines.Items[0].Steps != 1 {
		t.Errorf("%+v", pipelines)
	}
	list, err := f.Tools(t.Context())
	must(t, err)
	servers, err := f.ToolServers(t.Context(), adroit.Scope{Dir: f.dir})
	must(t, err)
	if _, err := f.CheckToolServer(t.Context(), adroit.ToolServerCheck{Named: adroit.Named{Name: "none"}}); len(servers.Items) != 0 || err == nil {
		t.Errorf("without MCP servers: %+v, %v", servers, err)
	}
	if p, err := f.ToolServerPrompt(t.Context(), adroit.ToolServerPrompt{Named: adroit.Named{Name: "none"}, Prompt: "none"}); err == nil {
		t.Errorf("without MCP servers there is the prompt %+v", p)
	}
	found := false
	for _, tool := range list.Items {
		found = found || tool.Name == "write_file" && strings.Contains(string(tool.Input), `"path"`)
	}
	if !found {
		t.Errorf("%d tools", len(list.Items))
	}
}

// skill gives the workspace a skill.
func (f *fixture) skill(t *testing.T) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Join(f.dir, ".adroit/skills/tidy"), 0o755))
	must(t, os.WriteFile(filepath.Join(f.dir, ".adroit/skills/tidy/SKILL.md"), []byte("---\nname: tidy\ndescription: Tidy up.\n---\nTidy.\n"), 0o644))
}

// What is shown is complete; an unknown name is an error with the nearest one.
func testShow(t *testing.T, f *fixture) {
	f.skill(t)
	in := adroit.Scope{Dir: f.dir, Trust: true}
	a, err := f.ShowAgent(t.Context(), adroit.Named{Scope: in, Name: "writer"})
	must(t, err)
	if a.Name != "writer" || a.Prompt == "" || a.Layer != "mine" || a.File != "writer.md" || len(a.Windows) != 2 || a.Windows[0].Tokens != 4096 {
		t.Errorf("%+v, %+v", a, a.DynamicAgent)
	}
	p, err := f.ShowPipeline(t.Context(), adroit.Named{Scope: in, Name: "greet"})
	must(t, err)
	if p.Name != "greet" || len(p.Steps) != 1 || p.Text() == "" || p.File != "greet.yaml" {
		t.Errorf("%+v", p)
	}
	s, err := f.ShowSkill(t.Context(), adroit.Named{Scope: in, Name: "tidy"})
	must(t, err)
	if s.Body != "Tidy." || s.Layer != "project" {
		t.Errorf("%+v", s)
	}
	_, err = f.ShowAgent(t.Context(), adroit.Named{Scope: in, Name: "write"})
	unknown(t, err, "writer")
	_, err = f.ShowPipeline(t.Context(), adroit.Named{Scope: in, Name: "great"})
	unknown(t, err, "greet")
	_, err = f.ShowSkill(t.Context(), adroit.Named{Scope: in, Name: "tidi"})
	unknown(t, err, "tidy")
}

// unknown fails unless err names what was probably meant.
func unknown(t *testing.T, err error, near string) {
	t.Helper()
	kind(t, err, problem.Invalid)
	if !strings.Contains(problem.Hint(err), near) {
		t.Errorf("%v, hint %q", err, problem.Hint(err))
	}
}

// All that there is, or some files, are checked; problems have their places.
func testLint(t *testing.T, f *fixture) {
	lint := map[string]func(context.Context, adroit.LintRequest) (*adroit.LintReport, error){"agents": f.LintAgents, "pipelines": f.LintPipelines}
	for kind, file := range map[string]string{"agents": "---\nname: A B\n---\nx", "pipelines": "steps: 3\n"} {
		all, err := lint[kind](t.Context(), adroit.LintRequest{})
		if err != nil || all.Checked != 1 || all.Problems == nil || all.Problems.Err() != nil {
			t.Errorf("%s: %v, %+v", kind, err, all)
		}
		one, err := lint[kind](t.Context(), adroit.LintRequest{Files: []adroit.LintFile{{Name: "mine/bad", Text: []byte(file)}}})
		if err != nil || one.Checked != 1 || one.Problems.Err() == nil || one.Problems[0].File != "mine/bad" || one.Problems[0].Line == 0 {
			t.Errorf("%s: %v, %+v", kind, err, one)
		}
	}
}

// A pipeline of a project is written once for each time that it was read, and is then one like others.
func testPipelineFile(t *testing.T, f *fixture) {
	named := func(name string) adroit.Named { return adroit.Named{Scope: adroit.Scope{Dir: f.dir}, Name: name} }
	if _, err := f.PipelineFile(t.Context(), named("nobody-has-it")); problem.AsError(err) == nil || problem.AsError(err).Kind != problem.NotFound {
		t.Errorf("a pipeline that nobody has defined: %v", err)
	}
	given, err := f.PipelineFile(t.Context(), named("greet"))
	must(t, err)
	if given.Layer != "mine" || given.Digest != "" || !strings.Contains(given.Text, "steps:") {
		t.Errorf("%+v", given)
	}
	w := adroit.PipelineWrite{Dir: f.dir, Name: "own", Text: "steps: [{id: a, run: make}] # kept\n"}
	first, err := f.WritePipeline(t.Context(), w)
	must(t, err)
	for _, was := range []string{"", strings.Repeat("0", 64)} {
		w.Was = was
		_, err = f.WritePipeline(t.Context(), w)
		kind(t, err, problem.Stale)
	}
	w.Was, w.Text = first.Digest, "name: other\nsteps: 3\n"
	second, err := f.WritePipeline(t.Context(), w)
	must(t, err)
	w.Was, w.Text = second.Digest, "name: other\nsteps: [{id: a, run: make}]\n"
	_, err = f.WritePipeline(t.Context(), w)
	must(t, err)
	for _, name := range []string{"own", "other"} { // by its file, and by its name
		if p, err := f.PipelineFile(t.Context(), named(name)); err != nil || p.Name != "own" || p.Text != w.Text {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(f.dir, configs.PipelinesDir, "own.yaml")); err != nil || string(b) != w.Text {
		t.Errorf("%q, %v", b, err)
	}
	must(t, os.WriteFile(filepath.Join(f.dir, configs.PipelinesDir, "own.yaml"), []byte("\ufeffname: other\r\nsteps: 3\r\n"), 0o644))
	if second, err = f.PipelineFile(t.Context(), named("own")); err != nil {
		t.Fatal(err)
	}
	w.Was = second.Digest
	_, err = f.WritePipeline(t.Context(), w) // from a page, which has plain line ends
	must(t, err)
	if b, err := os.ReadFile(filepath.Join(f.dir, configs.PipelinesDir, "own.yaml")); err != nil || string(b) != "\ufeff"+strings.ReplaceAll(w.Text, "\n", "\r\n") {
		t.Errorf("%q, %v", b, err)
	}
	for _, name := range []string{"", "../own", "Own"} {
		w.Name = name
		_, err = f.WritePipeline(t.Context(), w)
		kind(t, err, problem.Invalid)
	}
	if schema, err := f.PipelineSchema(t.Context()); err != nil || !json.Valid(schema) {
		t.Errorf("%.80s, %v", schema, err)
	}
	if r, err := f.LintPipelines(t.Context(), adroit.LintRequest{Scope: adroit.Scope{Dir: f.dir}, Names: []string{"greet"}}); err != nil || r.Checked != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A model is asked for a word; the models of a program are neither pulled nor
// forgotten.
func testModels(t *testing.T, f *fixture) {
	list, err := f.Models(t.Context())
	if err != nil || len(list) != 2 || list[0].Model != "script/NAME" || list[1].Model != "waits/NAME" {
		t.Errorf("%v, %+v", err, list)
	}
	r, err := f.CheckModel(t.Context(), adroit.ModelQuery{})
	if err != nil || r.Model != "script/turns" {
		t.Errorf("%v, %+v", err, r)
	}
	if s, err := f.ModelState(t.Context(), adroit.ModelQuery{Model: "script/turns", Window: 4096}); err != nil || s.Given != 0 || s.NoEffort != "" {
		t.Errorf("%v, %+v", err, s)
	}
	_, err = f.CheckModel(t.Context(), adroit.ModelQuery{Model: "nobody/x"})
	if err == nil || problem.Hint(err) == "" {
		t.Errorf("%v, hint %q", err, problem.Hint(err))
	}
	_, err = f.ForgetModel(t.Context(), "")
	kind(t, err, problem.Invalid)
	n := 0
	for _, err := range f.PullModel(t.Context(), adroit.ModelPull{Model: "x"}) {
		n++
		kind(t, err, problem.Invalid)
	}
	if n != 1 {
		t.Errorf("the pull reported %d times", n)
	}
}

// A tool works in the directory of the call; what it reports as failed is a
// result and no error.
func testCall(t *testing.T, f *fixture) {
	call := adroit.ToolCall{Name: "write_file", Args: json.RawMessage(`{"path": "a.txt", "content": "hello"}`), Dir: f.dir}
	r, err := f.CallTool(t.Context(), call)
	must(t, err)
	b, err := os.ReadFile(filepath.Join(f.dir, "a.txt"))
	if err != nil || r.Failed || r.Text == "" || string(b) != "hello" {
		t.Errorf("%v, %+v, %q", err, r, b)
	}
	call.Args = json.RawMessage(`{"path": "../a.txt", "content": "hello"}`)
	if r, err := f.CallTool(t.Context(), call); err == nil && !r.Failed {
		t.Errorf("a path out of the directory: %+v", r)
	}
	call.Args, call.Mode = json.RawMessage(`{"path": "plan.txt", "content": "hello"}`), executor.ModePlan
	r, err = f.CallTool(t.Context(), call)
	if _, at := os.Stat(filepath.Join(f.dir, "plan.txt")); err != nil || !r.Refused || at == nil {
		t.Errorf("mode plan writes: %v, %+v, %v", err, r, at)
	}
	call.Mode = "plain"
	_, err = f.CallTool(t.Context(), call)
	kind(t, err, problem.Invalid)
	call.Name, call.Mode = "write_fil", ""
	_, err = f.CallTool(t.Context(), call)
	unknown(t, err, "write_file")
}

// entries are the methods of a client that may run tools, each with what has it call those of
// [opener]; it returns all that the client shows of that.
var entries = map[string]func(*testing.T, *fixture) []any{
	"CallTool": func(t *testing.T, f *fixture) (shown []any) {
		for _, c := range opener {
			r, err := f.CallTool(t.Context(), adroit.ToolCall{Name: c.tool, Args: json.RawMessage(c.args), Dir: f.dir})
			shown = append(shown, r, fmt.Sprint(err))
		}
		return shown
	},
	"Resolve": func(t *testing.T, f *fixture) []any {
		p, err := f.Resolve(t.Context(), f.opener("calls/x"))
		must(t, err)
		return []any{p}
	},
	"Submit": func(t *testing.T, f *fixture) (shown []any) {
		requests := []adroit.Request{f.opener("calls/x")}
		for i := range opener {
			r := f.request(executor.ApproveAll)
			r.Target = fmt.Sprint("pipeline:opens-", i)
			requests = append(requests, r)
		}
		for _, r := range requests {
			s, err := f.Submit(t.Context(), r)
			if err != nil {
				shown = append(shown, err.Error())
				continue
			}
			f.start(t, s.Job.ID)
			j, err := f.Wait(t.Context(), s.Job.ID)
			must(t, err)
			d, err := f.Job(t.Context(), j.ID)
			must(t, err)
			said, err := f.Transcript(t.Context(), j.ID)
			must(t, err)
			shown = append(shown, j, d, said)
			for ev, err := range f.Events(t.Context(), j.ID, adroit.EventOptions{}) {
				must(t, err)
				shown = append(shown, ev)
			}
		}
		return shown
	},
}

// opener lists calls: one that prints a secret, one that a rule denies, and one that mode plan refuses.
var opener = []struct{ tool, args string }{
	{"reveal", `{}`}, {"write_file", `{"path": "private/x.txt", "content": "x"}`}, {"write_file", `{"path": "open.txt", "content": "x"}`},
}

const openerSecret = "Marble7Otter3Lagoon"

func (f *fixture) opener(model string) adroit.Request {
	return adroit.Request{Input: agents.Input{Prompt: "Open.", Dir: f.dir, Model: model, Approve: executor.ApproveAll,
		Spec: &agents.DynamicAgent{Name: "opener", Description: "Open.", Prompt: "You open.", Tools: []string{"reveal", "write_file"}}}}
}

// Each way into a tool, found by the types of the client's methods, hides secrets, obeys rules
// that deny, and changes nothing in mode plan. internal/dev/lint/vet finds what runs a tool past
// the client.
func testEntries(t *testing.T, s *suite) {
	found := map[string]bool{}
	for m := range reflect.TypeFor[adroit.Client]().Methods() {
		for i := range m.Type.NumIn() {
			found[m.Name] = found[m.Name] || reaches(m.Type.In(i), map[reflect.Type]bool{}, reflect.TypeFor[adroit.ToolCall](), reflect.TypeFor[agents.Input]())
		}
		for i := range m.Type.NumOut() {
			found[m.Name] = found[m.Name] || reaches(m.Type.Out(i), map[reflect.Type]bool{}, reflect.TypeFor[executor.ToolResult]())
		}
		if found[m.Name] != (entries[m.Name] != nil) {
			t.Errorf("by its type %s may run a tool: %v; have entries prove what it does", m.Name, found[m.Name])
		}
	}
	for name, call := range entries {
		for _, mode := range []executor.Mode{executor.ModeEdits, executor.ModePlan} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				ran := new(atomic.Int32)
				f := s.open(t, func(o *adroit.Options) { opens(t, o, mode, ran) })
				b, err := json.Marshal(call(t, f))
				must(t, err)
				if runs := name != "Resolve"; strings.Contains(string(b), openerSecret) || runs != strings.Contains(string(b), "[secret") || runs != (ran.Load() > 0) {
					t.Errorf("the tool ran %d times; shown is %s", ran.Load(), b)
				}
				for file, want := range map[string]bool{"private/x.txt": false, "open.txt": name != "Resolve" && mode == executor.ModeEdits} {
					if _, err := os.Stat(filepath.Join(f.dir, file)); (err == nil) != want {
						t.Errorf("%s is there: %v; shown is %s", file, err == nil, b)
					}
				}
			})
		}
	}
}

// opens gives a runtime what [entries] call, in a mode.
func opens(t *testing.T, o *adroit.Options, mode executor.Mode, ran *atomic.Int32) {
	text, pipelines := "turns:\n", fstest.MapFS{}
	for i, c := range opener {
		text += fmt.Sprintf("  - calls: [{name: %s, args: %s}]\n", c.tool, c.args)
		pipelines[fmt.Sprintf("opens-%d.yaml", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "name: opens-%d\ndescription: Open.\nsteps:\n  - id: open\n    tool: %s\n    args: %s\n", i, c.tool, c.args)}
	}
	model, err := script.Parse("calls", []byte(text+"  - text: Done.\n"))
	must(t, err)
	o.Models["calls"] = model
	o.Tools = append(slices.Clone(o.Tools), tools.New(tools.Metadata{Name: "reveal", Description: "Print a secret.", Effect: tools.Pure}, func(context.Context, *tools.Env, struct{}) (string, error) {
		ran.Add(1)
		return "it is " + openerSecret, nil
	}))
	o.Definitions.Pipelines = []agents.Layer{{Name: "mine", FS: pipelines}}
	o.Defaults.Mode, o.Defaults.Rules = mode, permit.Rules{{Path: "private/**", Do: permit.Deny}}
	o.Secrets = secret.New(map[string]string{"token": openerSecret})
}

// reaches reports whether a type has one of others in it, at any depth.
func reaches(t reflect.Type, seen map[reflect.Type]bool, others ...reflect.Type) bool {
	if slices.Contains(others, t) {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Chan:
		return reaches(t.Elem(), seen, others...)
	case reflect.Func:
		for i := range t.NumIn() {
			if reaches(t.In(i), seen, others...) {
				return true
			}
		}
	case reflect.Struct:
		for i := range t.NumField() {
			if reaches(t.Field(i).Type, seen, others...) {
				return true
			}
		}
	}
	return false
}

// Findings are values; those of an unknown project say so.
func testDoctor(t *testing.T, f *fixture) {
	found, err := f.Doctor(t.Context(), adroit.DoctorQuery{Dir: f.dir, Check: true})
	must(t, err)
	all := map[string]adroit.Finding{}
	for _, one := range found {
		all[one.Name] = one
	}
	for name, want := range map[string]adroit.FindingStatus{"data": adroit.Fine, "agents": adroit.Fine, "tests": adroit.Lacking, "git": adroit.Fine, "tools": adroit.Fine} {
		if got := all[name]; got.Status != want || got.What == "" {
			t.Errorf("%s: %+v, want %s", name, got, want)
		}
	}
	if all["sandbox"].What == "" || all["attribution"].What == "" {
		t.Errorf("%+v", found)
	}
}

// What coordinators remember is listed and forgotten; nothing is remembered here.
func testFailures(t *testing.T, f *fixture) {
	list, err := f.Failures(t.Context(), adroit.FailureQuery{Project: f.dir, Words: []string{"x"}, Limit: 3})
	if err != nil || len(list) > 0 {
		t.Errorf("remembers %v (%v)", list, err)
	}
	if s, err := f.FailureStats(t.Context(), adroit.StatsQuery{Dir: f.dir, Since: time.Now().Add(-time.Hour)}); err != nil || s.Jobs != 0 || s.Decisions == nil {
		t.Errorf("counts %+v (%v)", s, err)
	}
	if n, err := f.ForgetFailures(t.Context(), adroit.FailureQuery{Key: "J1/"}); n != 0 || err != nil {
		t.Errorf("forgot %d (%v)", n, err)
	}
	if _, err := f.Failures(t.Context(), adroit.FailureQuery{Project: f.dir + "\x00"}); err == nil {
		t.Error("a directory that cannot be is one")
	}
}
