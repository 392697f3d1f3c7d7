package clis_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/dev/e2e/clis"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/cliagent"
)

var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "adroit-clis-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs, why := os.Getenv("CLIS"), ""
	switch {
	case programs != "":
	case runtime.GOOS != "linux" || runtime.GOARCH != "amd64":
		why = "the pinned programs are for Linux on x64"
	default:
		// Only with everything at hand: it takes a gigabyte to install.
		why = "CLIS is not set: CLIS=$(internal/dev/e2e/install.sh clis)"
	}
	if why != "" {
		if os.Getenv("CI") != "" && programs == "" && runtime.GOARCH == "amd64" {
			fmt.Fprintln(os.Stderr, why)
			return 1
		}
		fmt.Fprintln(os.Stderr, "skipped:", why)
		return 0
	}
	// What npm links for two of them is made by the script that was not run.
	path := ""
	for _, at := range []string{"opencode-linux-x64/bin", "@anthropic-ai/claude-code-linux-x64", ".bin"} {
		path += filepath.Join(programs, "node_modules", at) + ":"
	}
	if err := os.Setenv("PATH", path+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if binary, err = testenv.Adroit(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// quick makes opencode compile and collect less: it runs for seconds only, in which its better
// compilers and its collector cost more than they save.
var quick = []string{"BUN_JSC_useFTLJIT=0", "BUN_JSC_thresholdForJITAfterWarmUp=5000", "BUN_JSC_thresholdForOptimizeAfterWarmUp=20000",
	"BUN_JSC_largeHeapSize=1000000000", "BUN_JSC_numberOfGCMarkers=1", "BUN_JSC_useConcurrentGC=0", "BUN_GC_TIMER_DISABLE=1"}

// quickNames returns the names of quick.
func quickNames() []string {
	var names []string
	for _, kv := range quick {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	return names
}

// A world is a home, a workspace and a server for one program.
type world struct {
	*testing.T
	home, dir string
	server    *clis.Server
	env       []string
}

const helper = `---
name: helper
description: Follows instructions.
tools: [read_file, write_file, shell]
done: %s
---
You help. Say DONE on a line of its own when you are done.
`

func newWorld(t *testing.T, cli, done string, turns ...clis.Turn) *world {
	t.Helper()
	// codex puts the program of its sandbox into its home, and refuses to where
	// that lies below the directory for temporary files.
	home, err := os.MkdirTemp("/var/tmp", "adroit-clis-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	w := &world{T: t, home: home, dir: filepath.Join(t.TempDir(), "proj"), server: clis.Serve(turns...)}
	t.Cleanup(w.server.Close)
	w.put(filepath.Join(w.dir, "a.txt"), "alpha\n")
	w.put(filepath.Join(w.home, ".config/adroit/agents/helper.md"), fmt.Sprintf(helper, done))
	w.env = append(os.Environ(), "HOME="+w.home, "ADROIT_HOME="+filepath.Join(w.home, "data"), "LOOP_KEY=loopback-key-1",
		"XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "XDG_STATE_HOME=", "XDG_CACHE_HOME=")
	passed := strings.Join(quickNames(), ", ")
	conf := fmt.Sprintf("cli: {oc: {format: acp, command: [opencode, acp], env: [%s]}, opencode: {env: [%s]}, gemini: {env: [GEMINI_CLI_NO_RELAUNCH]}", passed, passed)
	for _, name := range strings.Split(cli, ",") {
		if name == "codex" {
			conf += ", codex: {env: [LOOP_KEY]}"
		}
		w.settle(name)
	}
	conf += "}\n"
	w.put(filepath.Join(w.home, ".config/adroit/config.yaml"), conf)
	return w
}

// settle points a program at the server, by its own settings.
func (w *world) settle(cli string) {
	switch cli {
	case "codex":
		w.put(filepath.Join(w.home, ".codex/config.toml"), `model = "scripted"
model_provider = "loop"
[model_providers.loop]
name = "loop"
base_url = "`+w.server.URL+`/v1"
wire_api = "responses"
env_key = "LOOP_KEY"
request_max_retries = 0
stream_max_retries = 0
# What it may write to it guards with an empty .git, which other tests would find above them.
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
`)
	case "opencode":
		w.put(filepath.Join(w.home, ".config/opencode/opencode.json"), `{"model":"loop/m","small_model":"loop/m","provider":{"loop":{"npm":"@ai-sdk/openai-compatible","name":"loop",
"options":{"baseURL":"`+w.server.URL+`/v1","apiKey":"x"},"models":{"m":{"name":"m","limit":{"context":32000,"output":4000}}}}}}`)
		w.env = append(w.env, slices.Concat(quick, []string{"OPENCODE_DISABLE_MODELS_FETCH=1"})...)
		// Else it installs its library for plugins from the registry of npm, in each home.
		w.put(filepath.Join(w.home, ".config/opencode/package-lock.json"), `{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}`)
		w.put(filepath.Join(w.home, ".config/opencode/node_modules/README"), "No plugins.\n")
	case "claude":
		w.env = append(w.env, "ANTHROPIC_BASE_URL="+w.server.URL, "ANTHROPIC_API_KEY=x", "CLAUDE_CODE_MAX_RETRIES=0")
	case "gemini":
		w.put(filepath.Join(w.home, ".gemini/settings.json"), `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`)
		w.env = append(w.env, "GOOGLE_GEMINI_BASE_URL="+w.server.URL, "GEMINI_API_KEY=x")
		// Else it starts a second node, with another size of heap. In TestLostSession it does.
		w.env = append(w.env, "GEMINI_CLI_NO_RELAUNCH=true")
	}
}

func (w *world) put(file, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *world) read(name string) string {
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		return ""
	}
	return string(b)
}

// command runs adroit and returns its output and exit code.
func (w *world) command(args ...string) (stdout, stderr string, code int) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Dir = w.env, w.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		w.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// A result summarises the events of a run.
type result struct {
	job        string
	final      jobs.Final
	activities []llm.Activity
	events     []event.Event
	stderr     string
	code       int
}

func (w *world) run(args ...string) result {
	w.Helper()
	out, errs, code := w.command(append(args, "--json")...)
	r := result{stderr: errs, code: code}
	for line := range strings.Lines(out) {
		var ev event.Event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			w.Fatalf("a line of --json is no event: %v\n%s", err, line)
		}
		r.events = append(r.events, ev)
		r.job = ev.Job
		switch ev.Kind {
		case event.Activity:
			var a llm.Activity
			if err := json.Unmarshal(ev.Data, &a); err != nil {
				w.Fatal(err)
			}
			r.activities = append(r.activities, a)
		case event.JobFinished:
			if err := json.Unmarshal(ev.Data, &r.final); err != nil {
				w.Fatal(err)
			}
		}
	}
	if w.Failed() || testing.Verbose() {
		for _, a := range r.activities {
			w.Logf("%s %s", a.Kind, extagent.Text(a))
		}
		w.Logf("code %d, %s: %s %s\n%s", code, r.final.Status, r.final.Reason, r.final.Code, errs)
	}
	return r
}

func (r result) has(kind string, in string) bool {
	return slices.ContainsFunc(r.activities, func(a llm.Activity) bool { return a.Kind == kind && strings.Contains(extagent.Text(a), in) })
}

var all = []string{"codex", "opencode", "claude", "gemini"}

// The program claims to be done too early, is shown in the same session what is missing, and does
// it: the change belongs to the job, in diff and in undo.
func TestWork(t *testing.T) {
	for _, cli := range all {
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cli, "{all: [{signal: DONE}, {artifact: diff, where: {minLength: 1}}]}",
				clis.Turn{Say: "I believe that it is done.\nDONE"},
				clis.Turn{Run: "echo beta > b.txt; cat b.txt"},
				clis.Turn{Say: "Now it is.\nDONE"})
			r := w.run("run", "helper", "Make b.txt.", "-m", "cli/"+cli, "--approve", "all", "--effort", "high")
			if r.code != 0 || r.final.Status != jobs.Done || r.final.Summary != "Now it is." {
				t.Fatalf("exit code %d, %+v", r.code, r.final)
			}
			if !r.has(extagent.SessionOpened, "") {
				t.Errorf("no session was reported: %v", r.activities)
			}
			if got := w.read("b.txt"); got != "beta\n" {
				t.Fatalf("b.txt holds %q", got)
			}
			if !r.has(extagent.ToolFinished, "echo beta") {
				t.Errorf("the command was not reported: %v", r.activities)
			}
			if r.final.Usage.In != 300 || r.final.Usage.Out != 60 {
				t.Errorf("usage %+v, want 300 in and 60 out: of a session that was taken up only what is new counts", r.final.Usage)
			}
			asked := w.server.Requests()
			if !strings.Contains(asked[0], "Make b.txt.") || !strings.Contains(asked[0], "You help.") {
				t.Errorf("the request lacks the prompt or the agent's text")
			}
			if last := asked[len(asked)-1]; !strings.Contains(last, "I believe that it is done.") || !strings.Contains(last, "Not done yet") {
				t.Errorf("the session was not taken up with what is unmet")
			}
			out, _, _ := w.command("jobs", "diff", r.job, "--include-uncertain")
			if !strings.Contains(out, "+beta") {
				t.Errorf("jobs diff says\n%s", out)
			}
			if _, errs, code := w.command("jobs", "undo", r.job, "--include-uncertain"); code != 0 {
				t.Errorf("undo: code %d\n%s", code, errs)
			}
			if w.read("b.txt") != "" || w.read("a.txt") != "alpha\n" {
				t.Errorf("undo left b.txt %q and a.txt %q", w.read("b.txt"), w.read("a.txt"))
			}
		})
	}
}

// In plan mode the program may change nothing, whatever commands its model runs.
func TestReadOnly(t *testing.T) {
	for _, cli := range all {
		if !testenv.Chosen(t, 2, cli) {
			continue
		}
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cli, "{signal: DONE}", clis.Turn{Run: "echo beta > b.txt"}, clis.Turn{Say: "I could not.\nDONE"})
			r := w.run("run", "helper", "Make b.txt.", "-m", "cli/"+cli, "--mode", "plan")
			if got := w.read("b.txt"); got != "" {
				t.Errorf("it wrote b.txt: %q", got)
			}
			if r.final.Status == "" {
				t.Errorf("the run has no outcome: code %d\n%s", r.code, r.stderr)
			}
		})
	}
}

// A key that is refused ends the job with the kind of the failure, at once.
func TestRefusedKey(t *testing.T) {
	for _, cli := range all {
		if !testenv.Chosen(t, 2, cli) {
			continue
		}
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cli, "{signal: DONE}", clis.Turn{Status: 401})
			r := w.run("run", "helper", "Say how it is.", "-m", "cli/"+cli)
			if r.code != 1 || r.final.Status != jobs.Failed || r.final.Code != "model.auth" {
				t.Fatalf("exit code %d, %+v", r.code, r.final)
			}
		})
	}
}

// Killed at work: its children are gone, the change so far is known, and the
// next run reports it to the program instead of doing the same again.
func TestKilled(t *testing.T) {
	for _, cli := range []string{"codex", "opencode"} {
		if !testenv.Chosen(t, 2, cli) {
			continue
		}
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cli, "{signal: DONE}", clis.Turn{Run: "echo once >> b.txt"}, clis.Turn{Hang: true})
			cmd := exec.Command(binary, "run", "helper", "Make b.txt.", "-m", "cli/"+cli, "--approve", "all", "--json")
			cmd.Env, cmd.Dir = w.env, w.dir
			var out bytes.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second request comes when the command has run
				select {
				case <-w.server.Asked():
				case <-time.After(10 * time.Minute):
					t.Fatal("the program does not ask its model")
				}
			}
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // killed
			id := ""
			for line := range strings.Lines(out.String()) {
				var ev event.Event
				if json.Unmarshal([]byte(line), &ev) == nil {
					id = ev.Job
				}
			}
			left := w.processes()
			for deadline := time.Now().Add(2 * time.Minute); len(left) > 0 && time.Now().Before(deadline); left = w.processes() {
				runtime.Gosched()
			}
			if len(left) > 0 {
				t.Errorf("still running: %v", left)
			}
			again := clis.Serve(clis.Turn{Say: "It is there.\nDONE"})
			defer again.Close()
			w.move(cli, again)
			r := w.run("continue", id)
			if r.code != 0 || r.final.Status != jobs.Done {
				t.Fatalf("exit code %d, %+v\n%s", r.code, r.final, r.stderr)
			}
			if got := w.read("b.txt"); got != "once\n" {
				t.Errorf("b.txt holds %q", got)
			}
			requests := again.Requests()
			if len(requests) == 0 || !strings.Contains(requests[0], "You were interrupted") {
				t.Errorf("the request does not report the interruption")
			}
			if out, _, _ := w.command("jobs", "diff", id, "--include-uncertain"); !strings.Contains(out, "+once") {
				t.Errorf("jobs diff says\n%s", out)
			}
		})
	}
}

// A session that the program does not know is begun anew, with the whole conversation so far.
func TestLostSession(t *testing.T) {
	for cli, id := range map[string]string{"codex": "01a1ffd8-bace-79f1-ab48-c3cadffa13c5", "claude": "534e437e-cf3d-4d9a-9369-2b55f98da184",
		"gemini": "71dafca4-9526-427c-8ef9-ea162a35c5f3", "opencode": "ses_e073c15d0ffecNlCjLKPOz7oD2"} {
		if !testenv.Chosen(t, 2, cli) {
			continue
		}
		t.Run(cli, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cli, "{signal: DONE}", clis.Turn{Say: "Here again."})
			vars := map[string]string{}
			for _, kv := range w.env {
				key, value, _ := strings.Cut(kv, "=")
				vars[key] = value
			}
			a, err := cliagent.New(cliagent.Config{Name: cli, Env: append(quickNames(), "HOME", "LOOP_KEY"), Getenv: func(key string) string { return vars[key] }})
			if err != nil {
				t.Fatal(err)
			}
			value, err := json.Marshal(map[string]string{"id": id})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := a.Open(extagent.Session{Dir: w.dir}).Generate(t.Context(), &llm.Request{Messages: []llm.Message{
				{Role: llm.User, Text: "The first word."},
				{Role: llm.Assistant, Text: "Understood.", State: &llm.ProviderState{Dialect: "cli/" + cli, Field: "session", Value: value}},
				{Role: llm.User, Text: "The second word."},
			}}, nil)
			if err != nil {
				t.Fatalf("%v", err)
			}
			if resp.Message.Text != "Here again." || len(resp.Notes) != 1 || resp.Work.Session == id {
				t.Errorf("%q, notes %q, session %s", resp.Message.Text, resp.Notes, resp.Work.Session)
			}
			asked := w.server.Requests()
			if last := asked[len(asked)-1]; !strings.Contains(last, "The first word.") || !strings.Contains(last, "The second word.") {
				t.Error("the request lacks a part of the conversation")
			}
		})
	}
}

// A pipeline has one program look and another do it.
func TestPipeline(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "codex,claude", "{signal: DONE}", clis.Turn{Run: "cat a.txt b.txt; echo beta >> b.txt"}, clis.Turn{Say: "b.txt has one more.\nDONE"})
	w.put(filepath.Join(w.home, ".config/adroit/pipelines/two.yaml"), `name: two
description: One program after the other.
steps:
  - id: first
    agent: helper
    model: cli/codex
    input: Begin b.txt. {{input}}
    output: begun
  - id: second
    agent: helper
    model: cli/claude
    input: |
      Go on with b.txt. What was done before: {{begun}}
`)
	w.put(filepath.Join(w.home, ".config/adroit/config.yaml"), "model: cli/codex\ncli: {codex: {env: [LOOP_KEY]}}\n")
	r := w.run("run", "two", "Both write a line.", "--approve", "all")
	if r.code != 0 || r.final.Status != jobs.Done {
		t.Fatalf("exit code %d, %+v", r.code, r.final)
	}
	if got := w.read("b.txt"); got != "beta\nbeta\n" {
		t.Errorf("b.txt holds %q", got)
	}
	sent := false
	for _, body := range w.server.Requests() {
		sent = sent || strings.Contains(body, "What was done before: b.txt has one more.")
	}
	if !sent {
		t.Error("the second's requests lack the first's answer")
	}
	if r.final.Usage.In != 400 {
		t.Errorf("usage %+v, want the 400 tokens of both", r.final.Usage)
	}
}

// Over the Agent Client Protocol it asks before it runs a command: a rule
// allows one, and nobody is there for the other.
func TestACP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "opencode", "{signal: DONE}", clis.Turn{Run: "cp a.txt b.txt"}, clis.Turn{Run: "rm a.txt"}, clis.Turn{Say: "I copied.\nDONE"})
	conf := filepath.Join(w.home, ".config/adroit/config.yaml")
	b, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	w.put(conf, string(b)+"permissions: [{tool: shell, command: \"cp *\", do: allow}]\n")
	r := w.run("run", "helper", "Make b.txt.", "-m", "cli/oc")
	if r.code != 0 || r.final.Status != jobs.Done {
		t.Errorf("exit code %d, %+v", r.code, r.final)
	}
	if got := w.read("b.txt"); got != "alpha\n" {
		t.Errorf("b.txt holds %q", got)
	}
	if w.read("a.txt") != "alpha\n" {
		t.Error("a.txt is gone, though nobody allowed it")
	}
	var asked []string
	for _, a := range r.activities {
		if a.Kind == extagent.PermissionAsked {
			asked = append(asked, a.Text+" "+string(a.Status))
		}
	}
	if !slices.Equal(asked, []string{"cp a.txt b.txt ok", "rm a.txt denied"}) {
		t.Errorf("asked %q", asked)
	}
	if asked := w.server.Requests(); !strings.Contains(asked[len(asked)-1], "nobody can be asked") {
		t.Error("the request lacks the reason of the refusal")
	}
	if out, _, _ := w.command("jobs", "diff", r.job, "--include-uncertain"); !strings.Contains(out, "+alpha") {
		t.Errorf("jobs diff says\n%s", out)
	}
}

// move points the program at another server.
func (w *world) move(cli string, s *clis.Server) {
	file := filepath.Join(w.home, ".codex/config.toml")
	if cli == "opencode" {
		file = filepath.Join(w.home, ".config/opencode/opencode.json")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		w.Fatal(err)
	}
	w.put(file, strings.ReplaceAll(string(b), w.server.URL, s.URL))
}

// processes lists the running processes of this world's programs, which are recognised by their
// home.
func (w *world) processes() []string {
	var out []string
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		w.Fatal(err)
	}
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, []byte("HOME="+w.home+"\x00")) {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if err == nil && len(cmdline) > 0 {
			out = append(out, strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return out
}
