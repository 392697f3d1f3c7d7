package temporal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	sdk "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/adroit/adroittest"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// TestMain is also the worker that the tests start and kill: see work.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "work" {
		if err := work(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// effect notes in the file that EFFECTS names that a call begins and ends.
func effect(ctx context.Context, env *tools.Env, in struct {
	N     int    `json:"n"`
	Delay string `json:"delay,omitempty"`
	Note  string `json:"note,omitempty"`
}) (string, error) {
	note := func(what string) error {
		f, err := os.OpenFile(os.Getenv("EFFECTS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(f, what, in.N)
			err = errors.Join(err, f.Close())
		}
		return err
	}
	d, _ := time.ParseDuration(in.Delay) // none
	if err := note("begin"); err != nil {
		return "", err
	}
	select {
	case <-time.After(d):
		return strconv.Itoa(in.N), note("end")
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), note("stopped"))
	}
}

// lead has two sub-agents work at the same time, and sums up; otherLead asks for another step first.
var lead, otherLead = leads(false), leads(true)

func leads(other bool) flow.Workflow {
	return agents.Define("lead", func(sc *executor.Scope) error {
		if other {
			if _, err := executor.AITurn[string](sc, executor.Turn{Prompt: "Begin."}); err != nil {
				return err
			}
		}
		_, err := sc.SpawnAll(executor.SubAgentRequest{Agent: "worker", Prompt: "Part one."}, executor.SubAgentRequest{Agent: "worker", Prompt: "Part two."})
		if err != nil {
			return err
		}
		_, err = executor.AITurn[string](sc, executor.Turn{Prompt: "Sum up."})
		return err
	})
}

const lineFile = `name: line
description: Two steps of work.
steps:
  - {id: first, name: First, agent: worker, input: "First {{input}}", output: found, onSuccess: second}
  - {id: second, name: Second, agent: worker, input: "Then {{found}}", output: made}
`

// runtime is that of a worker with a scripted model and two tools: work may be repeated, push may not.
// A build that begins with "other" asks for another first step.
func runtime(ctx context.Context, data, agent, build string, model llm.Model, away adroit.Elsewhere) (*adroit.Runtime, error) {
	literals := []agents.DynamicAgent{{Name: agent, Description: "Works.", Prompt: "You work.", Tools: []string{"work", "push"}}}
	if agent == "worker" {
		literals = append(literals, agents.DynamicAgent{Name: "leader", Description: "Leads.", Prompt: "You lead.", Workflow: "lead", Tools: []string{"work", "push"}, Spawn: &agents.Spawn{Agents: []string{agent}, FanOut: 2, Total: 3}})
	}
	leader := lead
	if strings.HasPrefix(build, "other") {
		leader = otherLead
	}
	return adroit.Open(ctx, adroit.Options{
		Tools: []tools.Tool{
			tools.New(tools.Metadata{Name: "work", Description: "Work; safe to repeat.", Category: "utility", Effect: tools.Idempotent}, effect),
			tools.New(tools.Metadata{Name: "push", Description: "Push; not to be repeated.", Category: "utility", Effect: tools.Unsafe, Asks: "it cannot be taken back"}, effect),
		},
		Models:  map[string]llm.Model{"script": model},
		Model:   "script/turns",
		Storage: adroit.Storage{Data: data, Store: sqlite.Store(data), Elsewhere: away, Labels: []string{filepath.Base(data)}}, Workspace: adroit.Workspace{Trust: data},
		Definitions: adroit.Definitions{
			Literals: literals, Workflows: []flow.Workflow{leader},
			Pipelines: []agents.Layer{{Name: "test", FS: fstest.MapFS{"line.yaml": {Data: []byte(lineFile)}}}},
		},
	})
}

// work is a worker: see runtime.
func work(address, data, file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	model, err := script.Load(file)
	if err != nil {
		return err
	}
	t, err := Dial(ctx, config.Temporal{Address: address, Namespace: "default", KeyFile: os.Getenv("KEY_FILE"), Store: os.Getenv("STORE")})
	if err != nil {
		return err
	}
	t.long, _ = strconv.Atoi(os.Getenv("LONG")) // none
	t.ahead(os.Getenv("AHEAD"))
	build := os.Getenv("BUILD")
	if build != "" {
		t.build = func() (string, error) { return build, nil }
	}
	rt, err := runtime(ctx, data, cmp.Or(os.Getenv("AGENT"), "worker"), build, model, t)
	if err != nil {
		return err
	}
	return errors.Join(t.Work(ctx, rt, data, os.Getenv("HOST"), func(host string) { fmt.Println("ready", host) }), rt.Close())
}

// unversioned has workers of no build. Those of TestClient live side by side, with queues of their own.
func unversioned() (string, error) { return "", nil }

// ahead sets the clock of a machine forward or back, as those of most workers and clients of a rig are. What
// becomes of jobs has to be the same.
func (t *Cluster) ahead(by string) {
	d, _ := time.ParseDuration(by) // none
	t.now = func() time.Time { return time.Now().Add(d) }
}

// A rig is a Temporal server, a worker and a client, each killed and started at will.
type rig struct {
	t       *testing.T
	address string
	at      config.Temporal
	dir     string
	bin     string // the server's program
	server  *exec.Cmd
	worker  *exec.Cmd
	host    string // of worker
	begun   int    // workers
	cluster *Cluster
	adroit.Client
}

// served starts a server alone. Tests with servers of their own wait most of the time, so they do that at once.
func served(t *testing.T) *rig {
	t.Parallel()
	return servedIn(t, t.TempDir())
}

func servedIn(t *testing.T, dir string) *rig {
	r := &rig{t: t, dir: dir, bin: testenv.NeedsVariable(t, "TEMPORAL_BIN", "build.sh temporal")}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.address = l.Addr().String()
	r.at = config.Temporal{Address: r.address, Namespace: "default"}
	l.Close()
	r.serve()
	t.Cleanup(func() { r.kill(r.server) })
	return r
}

// newRig starts all of it with a model that plays turns.
func newRig(t *testing.T, turns ...string) *rig { return served(t).with(turns...) }

// with starts a worker and a client with a model that plays turns.
func (r *rig) with(turns ...string) *rig {
	return r.plays("turns:\n  - " + strings.Join(turns, "\n  - ") + "\n")
}

// plays starts a worker and a client with a model that plays a script.
func (r *rig) plays(text string) *rig {
	t := r.t
	if err := errors.Join(os.WriteFile(r.file("script.yaml"), []byte(text), 0o600), os.Mkdir(r.file("workspace"), 0o700), os.Mkdir(r.file("data"), 0o700)); err != nil {
		t.Fatal(err)
	}
	r.work()
	until(t, func() (err error) { r.cluster, err = Dial(t.Context(), r.at); return err })
	t.Cleanup(func() { r.kill(r.worker); r.cluster.Close() })
	r.cluster.ahead("-3m")
	r.Client = r.cluster.Client()
	return r
}

func (r *rig) file(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) serve() {
	_, port, _ := net.SplitHostPort(r.address)
	args := []string{"server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, "--db-filename", r.file("temporal.db"), "--log-level", "never",
		"--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal", "--dynamic-config-value", "history.transferProcessorMaxPollRPS=10000"}
	for _, a := range []string{"Status", "Host", "Agent", "Model"} {
		args = append(args, "--search-attribute", "Adroit"+a+"=Keyword")
	}
	args = append(args, "--search-attribute", "AdroitCost=Double")
	r.server = exec.Command(r.bin, args...)
	if err := r.server.Start(); err != nil {
		r.t.Fatal(err)
	}
	until(r.t, func() error {
		c, err := net.Dial("tcp", r.address)
		if err == nil {
			c.Close()
		}
		return err
	})
}

// work starts a worker, and returns when it polls.
func (r *rig) work() { r.worker, r.host = r.workFor("data", "worker") }

// workFor starts the worker of a data directory that has one agent.
func (r *rig) workFor(data, agent string) (c *exec.Cmd, host string) {
	return r.workBy("", data, agent)
}

// workBy starts such a worker of a build.
func (r *rig) workBy(build, data, agent string) (c *exec.Cmd, host string) {
	ahead := []string{"", "3m", "-3m"}[r.begun%3]
	r.begun++
	until(r.t, func() error {
		c = exec.Command(os.Args[0], "work", r.address, r.file(data), r.file("script.yaml"))
		c.Env = append(os.Environ(), "EFFECTS="+r.file("effects"), "AGENT="+agent, "BUILD="+build, "AHEAD="+ahead, "KEY_FILE="+r.at.KeyFile, "STORE="+r.at.Store)
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			return err
		}
		line, _ := bufio.NewReader(out).ReadString('\n') // empty at its end
		ready := false
		if host, ready = strings.CutPrefix(strings.TrimSpace(line), "ready "); !ready {
			return fmt.Errorf("the worker ended: %w", c.Wait())
		}
		return nil
	})
	return c, host
}

func (r *rig) kill(c *exec.Cmd) {
	_ = c.Process.Kill() // SIGKILL; it may have ended
	_ = c.Wait()
}

// command runs a command of a person, and returns what it printed.
func (r *rig) command(code int, want string, args ...string) string {
	r.t.Helper()
	env := map[string]string{"HOME": r.dir, "ADROIT_HOME": r.file("client"), "TEMPORAL_ADDRESS": r.address}
	var out bytes.Buffer
	p := cli.Program{Parts: parts.All(), Stdout: &out, Stderr: &out, Getenv: func(name string) string { return env[name] }, Engine: func(ctx context.Context, at config.Temporal) (cli.Engine, error) {
		return Dial(ctx, at)
	}, Worker: Commands}
	if got := p.Run(r.t.Context(), append([]string{"--engine", "temporal"}, args...)...); got != code || !strings.Contains(out.String(), want) {
		r.t.Errorf("%q ends with %d, want %d and %q:\n%s", args, got, code, want, &out)
	}
	return out.String()
}

// begin starts a job.
func (r *rig) begin(approve executor.Approve) string { return r.beginAs("worker", approve) }

func (r *rig) beginAs(target string, approve executor.Approve) string {
	r.t.Helper()
	q := adroit.Request{Target: target}
	q.Prompt, q.Dir, q.Approve = "Go.", r.file("workspace"), approve
	s, err := r.Submit(r.t.Context(), q)
	if err == nil {
		_, err = r.Start(r.t.Context(), s.Job.ID, adroit.StartOptions{})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return s.Job.ID
}

// ended waits for the end of a job, past times in which its host or the server is away.
func (r *rig) ended(id string, want jobs.Status) *jobs.Job {
	r.t.Helper()
	var last *jobs.Job
	until(r.t, func() error {
		j, err := r.Wait(r.t.Context(), id)
		if err != nil {
			return err
		}
		if last = j; j.Status != want {
			return fmt.Errorf("it is %s: %s", j.Status, j.Reason)
		}
		return nil
	})
	return last
}

// patience is how long a test waits for what has to happen. It is a deadline and no measure: a machine
// under load is slow, and only what never happens is a fault.
const patience = 10 * time.Minute

// until waits for f to succeed: each wait of these tests goes through it.
func until(t *testing.T, f func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %s: %v", patience, err)
		}
	}
}

// effects counts the lines of the effects log.
func (r *rig) effects() map[string]int {
	b, _ := os.ReadFile(r.file("effects")) // nothing yet
	out := map[string]int{}
	for line := range strings.Lines(string(b)) {
		out[strings.TrimSpace(line)]++
	}
	return out
}

const calls = 24

func turns(tool, delay string) (out []string) {
	for i := range calls {
		out = append(out, fmt.Sprintf("calls: [{name: %s, args: {n: %d, delay: %s}}]", tool, i, delay))
	}
	return append(out, "text: Done.")
}

// TestKill kills the worker, the server and both in the middle of jobs: they go on by
// themselves, nothing is left out, and what must not be repeated is not.
func TestKill(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"work", "push"} {
		t.Run(tool, func(t *testing.T) {
			r := newRig(t, turns(tool, "300ms")...)
			id := r.begin(executor.ApproveAll)
			for i := range 5 {
				r.progresses() // or it is blocked, as a job whose runner dies again and again
				time.Sleep(time.Duration(rand.N(300)) * time.Millisecond)
				if i != 1 {
					r.kill(r.worker)
				}
				if i%2 == 1 {
					r.kill(r.server)
					r.serve()
				}
				if i != 1 {
					r.work()
				}
			}
			r.ended(id, jobs.Done)
			got := r.effects()
			for i := range calls {
				begun, done := got[fmt.Sprint("begin ", i)], got[fmt.Sprint("end ", i)]
				if tool == "work" && done == 0 { // whether one of push has happened, nobody knows
					t.Errorf("call %d was left out: %v", i, got)
				}
				if tool == "push" && begun > 1 {
					t.Errorf("call %d, which must not be repeated, was begun %d times", i, begun)
				}
			}
		})
	}
}

// progresses waits until another call has ended, and its outcome is recorded.
func (r *rig) progresses() {
	r.t.Helper()
	all := func(what string) (n int) {
		for line, times := range r.effects() {
			if strings.HasPrefix(line, what) {
				n += times
			}
		}
		return n
	}
	ended := all("end")
	until(r.t, func() error {
		if n := all("end"); n <= ended {
			return fmt.Errorf("%d calls have ended", n)
		}
		return nil
	})
	begun := all("begin")
	until(r.t, func() error {
		if n := all("begin"); n <= begun {
			return fmt.Errorf("%d calls have begun", n)
		}
		return nil
	})
}

// TestKillParts kills the worker, the server and both at a sample of the calls of a job with two
// sub-agents that ask before what must not be repeated; at night at every one.
func TestKillParts(t *testing.T) {
	r := served(t).plays(twoParts("300ms"))
	id := r.beginAs("leader", executor.ApproveEdits)
	lines := func() (n int) {
		for _, times := range r.effects() {
			n += times
		}
		return n
	}
	kills := []int{1, 3, 6, 8}
	if testenv.Night() {
		kills = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	}
	killed := 0
	until(t, func() error {
		if killed < len(kills) && lines() >= kills[killed] {
			who := (killed + rand.N(3)) % 3
			killed++
			if who != 1 {
				r.kill(r.worker)
			}
			if who != 0 {
				r.kill(r.server)
				r.serve()
			}
			if who != 1 {
				r.work()
			}
		}
		soon, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		d, err := r.Job(soon, id)
		if err != nil {
			return err
		}
		for _, q := range d.Questions {
			for _, s := range q.Signals {
				if strings.HasPrefix(s, "approve") {
					_, _ = r.Signal(soon, id, adroit.Signal{Name: s, Question: q.Path}) // it may have its answer
				}
			}
		}
		if d.Job.Status == jobs.Blocked { // it died three times before a step ended, as it may here
			_, _ = r.Start(soon, id, adroit.StartOptions{}) // else next time
		}
		if d.Job.Status != jobs.Done {
			return fmt.Errorf("it is %s: %s; %v", d.Job.Status, d.Job.Reason, r.effects())
		}
		return nil
	})
	if killed < len(kills)/2 { // the job may be done before the last of them
		t.Errorf("something was killed %d times", killed)
	}
	got := r.effects()
	for _, n := range []int{10, 12, 20, 22} {
		if got[fmt.Sprint("end ", n)] == 0 {
			t.Errorf("call %d was left out: %v", n, got)
		}
	}
	for _, n := range []int{11, 21} {
		if begun := got[fmt.Sprint("begin ", n)]; begun != 1 {
			t.Errorf("call %d, which must not be repeated, was begun %d times", n, begun)
		}
	}
}

// TestManyJobs has 10 jobs, 30 at night, on 1, 2 and 4 hosts: each call is made once for each
// job, and where there are several hosts, several have some.
func TestManyJobs(t *testing.T) {
	many := 10
	if testenv.Night() {
		many = 30
	}
	r := newRig(t, "calls: [{name: work, args: {n: 1}}]", "calls: [{name: push, args: {n: 2}}]", "text: Done.")
	hosts := map[string]bool{r.host: true}
	for round, n := range []int{1, 2, 4} {
		for len(hosts) < n {
			data := fmt.Sprint("host", len(hosts))
			if err := os.Mkdir(r.file(data), 0o700); err != nil {
				t.Fatal(err)
			}
			c, host := r.workFor(data, "worker")
			t.Cleanup(func() { r.kill(c) })
			hosts[host] = true
		}
		begun := time.Now()
		var ids []string
		for range many {
			ids = append(ids, r.begin(executor.ApproveAll))
		}
		for _, id := range ids {
			r.ended(id, jobs.Done)
		}
		t.Logf("%d jobs on %d hosts: %s", many, n, time.Since(begun).Round(time.Millisecond))
		want := many * (round + 1)
		if got := r.effects(); got["begin 1"] != want || got["end 1"] != want || got["begin 2"] != want || got["end 2"] != want {
			t.Errorf("effects are %v, want %d each", got, want)
		}
		used := map[string]bool{}
		for _, id := range ids {
			d, err := r.Job(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			used[d.Config.Host] = true
		}
		if len(used) < min(n, 2) { // short jobs leave nothing to the last host
			t.Errorf("jobs ran on %v of %v", used, hosts)
		}
	}
}

// TestTurns has a job of many turns, a thousand at night: what a turn costs in Temporal does not grow.
func TestTurns(t *testing.T) {
	all, part, warm := 100, 35, 30 // until the list of the last calls, by which loops are seen, is full
	if testenv.Night() {
		all, part, warm = 1000, 100, 0
	}
	var list []string
	for i := range all {
		list = append(list, fmt.Sprintf("calls: [{name: work, args: {n: %d}}]", i))
	}
	r := newRig(t, append(list, "text: Done.")...)
	q := adroit.Request{Target: "worker"}
	q.Prompt, q.Dir, q.Approve, q.Limits.Turns = "Go.", r.file("workspace"), executor.ApproveAll, all+10
	s, err := r.Submit(t.Context(), q)
	if err == nil {
		_, err = r.Start(t.Context(), s.Job.ID, adroit.StartOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	until(t, func() error {
		j, err := r.Wait(t.Context(), s.Job.ID)
		if err == nil && j.Status != jobs.Done {
			err = fmt.Errorf("it is %s: %s", j.Status, j.Reason)
		}
		return err
	})
	var events, size []int // by turn
	page, err := r.cluster.c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default", Query: fmt.Sprintf("WorkflowId = %q", s.Job.ID)})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(page.Executions, func(a, b *workflowpb.WorkflowExecutionInfo) int {
		return a.StartTime.AsTime().Compare(b.StartTime.AsTime())
	})
	for _, e := range page.Executions {
		for it := r.cluster.c.GetWorkflowHistory(t.Context(), s.Job.ID, e.Execution.RunId, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
			ev, err := it.Next()
			if err != nil {
				t.Fatal(err)
			}
			if ev.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == "model" {
				events, size = append(events, 0), append(size, 0)
			}
			if n := len(events); n > 0 {
				events[n-1]++
				size[n-1] += proto.Size(ev)
			}
		}
	}
	if len(events) < all {
		t.Fatalf("%d turns", len(events))
	}
	sum := func(list []int) (n int) {
		for _, v := range list {
			n += v
		}
		return n
	}
	for what, of := range map[string][]int{"events": events, "bytes": size} {
		first, last := sum(of[warm:warm+part]), sum(of[all-part:all])
		t.Logf("%s of a turn: %.1f at first, %.1f at last, in %d executions", what, float64(first)/float64(part), float64(last)/float64(part), len(page.Executions))
		if float64(last) > 1.1*float64(first) {
			t.Errorf("%s of the last %d turns are %d, of the first %d", what, part, last, first)
		}
	}
}

// TestCancel ends a job in a long call, by adroit and by Temporal alone, as its own interface does:
// there the call learns of it by the answer to a heartbeat.
func TestCancel(t *testing.T) {
	r := newRig(t, "calls: [{name: work, args: {n: 1, delay: 40s}}]", "text: Done.")
	for i, cancel := range []func(id string) error{
		func(id string) error { _, err := r.Cancel(t.Context(), id); return err },
		func(id string) error { return r.cluster.c.CancelWorkflow(t.Context(), id, "") },
	} {
		id := r.begin(executor.ApproveAll)
		until(t, func() error {
			if r.effects()["begin 1"] != i+1 {
				return errors.New("not begun")
			}
			return nil
		})
		time.Sleep(2500 * time.Millisecond) // past the first heartbeat, from which on the SDK keeps some back
		start := time.Now()
		if err := cancel(id); err != nil {
			t.Error(err)
		}
		until(t, func() error {
			if got := r.effects(); got["stopped 1"] != i+1 {
				return fmt.Errorf("the call was not stopped: %v", got)
			}
			return nil
		})
		t.Logf("it took %s", time.Since(start))
		r.ended(id, jobs.Cancelled)
	}
}

// TestAway asks a question, kills the worker, answers without one, and starts another: the job
// shows that its host is away, and goes on with the answer by itself.
func TestAway(t *testing.T) {
	r := newRig(t, "calls: [{name: push, args: {n: 1}}]", "calls: [{name: work, args: {n: 2}}]", "text: Done.")
	id := r.begin(executor.ApproveEdits)
	j := r.ended(id, jobs.Waiting)
	d, err := r.Job(t.Context(), id)
	if err != nil || len(d.Questions) != 1 {
		t.Fatalf("%+v, %v: it asks nothing", j, err)
	}
	r.kill(r.worker)
	name := "approve@" + d.Questions[0].Path
	for _, s := range d.Questions[0].Signals {
		if strings.HasPrefix(s, "approve") {
			name = s
		}
	}
	if _, err := r.Signal(t.Context(), id, adroit.Signal{Name: name}); err != nil {
		t.Fatal(err)
	}
	if got := r.effects(); len(got) > 0 {
		t.Errorf("something was done without a worker: %v", got)
	}
	r.work()
	r.ended(id, jobs.Done)
	if got := r.effects(); got["end 1"] != 1 || got["end 2"] != 1 {
		t.Errorf("effects are %v", got)
	}
	var by []string
	until(t, func() error { // a machine under load takes a call late
		by = nil
		for ev, err := range r.Events(t.Context(), id, adroit.EventOptions{}) {
			if err != nil {
				return err
			}
			if ev.Kind == event.Answer {
				by = append(by, ev.Name+" "+ev.Text)
			}
		}
		return nil
	})
	if !slices.Equal(by, []string{"approve by owner"}) {
		t.Errorf("who answered is %q", by)
	}

	// A worker that dies before it has recorded that the job waits: the next one records it.
	id = r.begin(executor.ApproveEdits)
	r.asks(id)
	r.kill(r.worker)
	r.work()
	r.ended(id, jobs.Waiting)
}

// TestWorkspaceGone removes the workspace of a job that waits: who waits for the job learns why its host fails, and
// it goes on by itself when the workspace is there again.
func TestWorkspaceGone(t *testing.T) {
	r := newRig(t, "calls: [{name: push, args: {n: 1}}]", "text: Done.")
	id := r.begin(executor.ApproveEdits)
	r.ended(id, jobs.Waiting)
	if err := os.Rename(r.file("workspace"), r.file("away")); err != nil {
		t.Fatal(err)
	}
	r.approve(id)
	if j := r.ended(id, jobs.Blocked); !strings.Contains(j.Reason, r.file("workspace")) {
		t.Errorf("it waits, because %s", j.Reason)
	}
	if err := os.Rename(r.file("away"), r.file("workspace")); err != nil {
		t.Fatal(err)
	}
	r.ended(id, jobs.Done)
}

// TestDrain stops a worker in the middle of a call that must not be repeated: the call ends, the
// next worker, which begins later or is there already, goes on behind it, and who follows the job sees no gap. So it is when
// the server ends.
func TestDrain(t *testing.T) {
	t.Run("later", func(t *testing.T) { drain(t, "later") })
	t.Run("beside", func(t *testing.T) { drain(t, "beside") })
	t.Run("server", func(t *testing.T) { drain(t, "server") })
}

func drain(t *testing.T, how string) {
	r := newRig(t, "calls: [{name: push, args: {n: 1, delay: 3s}}]", "calls: [{name: work, args: {n: 2}}]", "text: Done.")
	id := r.begin(executor.ApproveAll)
	until(t, func() error {
		if r.effects()["begin 1"] == 0 {
			return errors.New("not begun")
		}
		return nil
	})
	followed, last := make(chan error, 1), int64(0)
	go func() {
		for ev, err := range r.Events(context.Background(), id, adroit.EventOptions{Follow: true}) {
			if err == nil && ev.Seq != last+1 {
				err = fmt.Errorf("event %d follows %d", ev.Seq, last)
			}
			if last = ev.Seq; err != nil {
				followed <- err
				return
			}
		}
		followed <- nil
	}()
	old := r.worker
	switch how {
	case "beside":
		r.work()
	case "server":
		r.kill(r.server)
		r.serve()
	}
	if how != "server" {
		if err := old.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := old.Wait(); err != nil {
			t.Errorf("the worker ended with %v", err)
		}
		if got := r.effects(); got["end 1"] != 1 {
			t.Errorf("the call was not let end: %v", got)
		}
	}
	if how == "later" {
		r.work()
	}
	r.ended(id, jobs.Done)
	if got := r.effects(); got["begin 1"] != 1 || got["end 2"] != 1 {
		t.Errorf("effects are %v", got)
	}
	select {
	case err := <-followed:
		if d, e := r.Job(t.Context(), id); err != nil || e != nil || d.End.Seq != last {
			t.Errorf("%v, %v: the stream has ended at the event %d of %+v", err, e, last, d)
		}
	case <-time.After(patience):
		t.Error("the stream does not end with the job")
	}
}

// TestHosts has two hosts: a request goes to the one that has its agent, the list has the jobs of
// both, and Temporal's own interface has what people look for.
func TestHosts(t *testing.T) {
	r := newRig(t, "calls: [{name: push, args: {n: 1}}]", "text: Done.")
	if err := os.Mkdir(r.file("other"), 0o700); err != nil {
		t.Fatal(err)
	}
	second, host := r.workFor("other", "helper")
	t.Cleanup(func() { r.kill(second) })
	first := r.begin(executor.ApproveAll)
	q := adroit.Request{Target: "helper"}
	q.Prompt, q.Dir, q.Approve = "Help.\nPlease.", r.file("workspace"), executor.ApproveEdits
	s, err := r.Submit(t.Context(), q)
	if err == nil {
		_, err = r.Start(t.Context(), s.Job.ID, adroit.StartOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.ended(first, jobs.Done)
	r.ended(s.Job.ID, jobs.Waiting)
	q.Target = "nobody"
	if _, err := r.Submit(t.Context(), q); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a request that no host can do: %v", err)
	}
	until(t, func() error { // Temporal's list lags
		list, err := r.Jobs(t.Context(), adroit.ListOptions{})
		if err != nil || len(list) != 2 || list[0].ID != s.Job.ID || list[1].ID != first {
			return fmt.Errorf("%w: %+v", err, list)
		}
		return nil
	})

	// What a person has remembered, each host has: a job may come to any.
	f, err := r.Remember(t.Context(), adroit.FactNote{Fact: adroit.Fact{Text: "The tests are slow."}, Dir: r.file("workspace")})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []adroit.Client{r.cluster.on(r.host), r.cluster.on(host), r} {
		if list, err := of.Facts(t.Context(), adroit.FactQuery{Dir: r.file("workspace")}); err != nil || len(list) != 1 || list[0].ID != f.ID {
			t.Errorf("%v, facts are %+v, want one, %s", err, list, f.ID)
		}
	}
	if n, err := r.Forget(t.Context(), adroit.FactQuery{ID: f.ID}); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := r.Forget(t.Context(), adroit.FactQuery{ID: f.ID}); !errors.Is(err, jobs.ErrNotExist) {
		t.Errorf("a fact that no host has is forgotten: %v", err)
	}
	for _, only := range []string{r.host, host} {
		if _, err := r.cluster.on(only).Remember(t.Context(), adroit.FactNote{Fact: adroit.Fact{Text: "The tests are slow."}, Dir: r.file("workspace")}); err != nil {
			t.Fatal(err)
		}
		if n, err := r.Forget(t.Context(), adroit.FactQuery{Text: "slow", Dir: r.file("workspace")}); n != 1 || err != nil {
			t.Errorf("of a fact that only %s has, %d is forgotten, %v", only, n, err)
		}
	}

	d, err := r.cluster.c.DescribeWorkflowExecution(t.Context(), s.Job.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	info := d.GetWorkflowExecutionInfo()
	shown := map[string]string{"type": info.GetType().GetName()}
	for _, name := range []string{"AdroitStatus", "AdroitHost", "AdroitAgent", "AdroitModel"} {
		var v string
		if err := json.Unmarshal(info.GetSearchAttributes().GetIndexedFields()[name].GetData(), &v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		shown[name] = v
	}
	if want := map[string]string{"type": "helper", "AdroitStatus": "waiting", "AdroitHost": host, "AdroitAgent": "helper", "AdroitModel": "script/turns"}; !maps.Equal(shown, want) {
		t.Errorf("it is shown with %v, want %v", shown, want)
	}
	v, err := r.cluster.c.QueryWorkflow(t.Context(), s.Job.ID, "", "__temporal_workflow_metadata")
	if err != nil {
		t.Fatal(err)
	}
	meta := new(sdk.WorkflowMetadata)
	if err := v.Get(meta); err != nil {
		t.Fatal(err)
	}
	if got := meta.GetCurrentDetails(); !strings.HasPrefix(got, "waiting on "+host+", turn 1") || !strings.Contains(got, "push") {
		t.Errorf("its details are %q", got)
	}

	// The host goes away: the other one's worker shows what it asks, and takes the answer.
	r.kill(second)
	j, err := r.Job(t.Context(), s.Job.ID)
	if err != nil || j.Job.Status != jobs.Interrupted || len(j.Questions) != 1 || !strings.Contains(j.Job.Reason, host) {
		t.Fatalf("%+v, %v", j, err)
	}
	list, err := r.Jobs(t.Context(), adroit.ListOptions{Dir: r.dir, Agent: "helper"})
	if err != nil || len(list) != 1 || list[0].Title != j.Job.Title || list[0].Dir != r.file("workspace") || j.Job.Title != s.Job.Title || j.Job.Dir != s.Job.Dir {
		t.Errorf("while the host is away the list is %+v, and the job %+v, %v", list, j.Job, err)
	}
	if _, err := r.Job(t.Context(), "J0000000000000"); err == nil || !strings.Contains(err.Error(), "unknown whether") || !strings.Contains(err.Error(), host) {
		t.Errorf("a job that the host which is away may have: %v", err)
	}
	part, both := s.Job.ID[8:], first[:2]
	if j, err := r.Job(t.Context(), part); err != nil || j.Job.ID != s.Job.ID {
		t.Errorf("a part of its id: %+v, %v", j, err)
	}
	if j, err := r.Job(t.Context(), both); err == nil || !strings.Contains(err.Error(), " on "+host) {
		t.Errorf("what two jobs begin with: %+v, %v", j, err)
	}
	path := j.Questions[0].Path
	for _, wrong := range []adroit.Signal{{Name: "approve", Question: path, About: json.RawMessage(`{"tool":"other"}`)}, {Name: "approve", Value: json.RawMessage(`{"alwayz":true}`)}} {
		if _, err := r.Signal(t.Context(), s.Job.ID, wrong); err == nil || !strings.Contains(err.Error(), s.Job.ID) && !strings.Contains(err.Error(), "approve@") {
			t.Errorf("%+v is taken: %v", wrong, err)
		}
	}
	if _, err := r.Signal(t.Context(), part, adroit.Signal{Name: "approve", Question: path, About: j.Questions[0].About}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Signal(t.Context(), s.Job.ID, adroit.Signal{Name: "deny"}); !errors.Is(err, jobs.ErrAnswered) {
		t.Errorf("a second answer: %v", err)
	}
	for _, err := range r.Events(t.Context(), s.Job.ID, adroit.EventOptions{}) { // which adroit answer reads first
		if err == nil || !strings.Contains(err.Error(), "has its answer") {
			t.Errorf("events while the host is away: %v", err)
		}
	}
	if _, err := r.Start(t.Context(), s.Job.ID, adroit.StartOptions{}); err == nil || !strings.Contains(err.Error(), "has its answer") {
		t.Errorf("a start while the host is away: %v", err)
	}
	second, _ = r.workFor("other", "helper")
	r.ended(s.Job.ID, jobs.Done)

	// It goes away after the end: the other one's worker knows that, and has the job in lists.
	r.kill(second)
	j, err = r.Job(t.Context(), s.Job.ID)
	if err != nil || j.Job.Status != jobs.Done || j.Job.Finished.IsZero() || !strings.Contains(j.Job.Reason, host) {
		t.Errorf("%+v, %v", j, err)
	}
	list, err = r.Jobs(t.Context(), adroit.ListOptions{Status: jobs.Ended()})
	if err != nil || len(list) != 2 || list[0].ID != s.Job.ID || list[0].Status != jobs.Done {
		t.Errorf("while its host is away, the list is %+v, %v", list, err)
	}
	if _, err := r.Cancel(t.Context(), s.Job.ID); !errors.Is(err, jobs.ErrFinal) {
		t.Errorf("the end of a job that has ended was asked for: %v", err)
	}
	if _, err := r.Remember(t.Context(), adroit.FactNote{Fact: adroit.Fact{Text: "The tests are slow."}, Dir: r.file("workspace")}); err != nil {
		t.Error(err)
	}
	if n, err := r.Forget(t.Context(), adroit.FactQuery{Text: "slow", Dir: r.file("workspace")}); n != 1 || !errors.Is(err, errAway) || !strings.Contains(err.Error(), host) {
		t.Errorf("%d is forgotten, and who has it still is not named: %v", n, err)
	}

	// Once its polls are old, and as if they all were, lists ask nobody: a host that is gone would hold each up.
	r.cluster.ahead("10m")
	r.cluster.skew, r.cluster.compared = 0, time.Now()
	list, err = r.Jobs(t.Context(), adroit.ListOptions{})
	if _, asked := r.cluster.on(r.host).Jobs(t.Context(), adroit.ListOptions{}); err != nil || len(list) != 2 || !errors.Is(asked, errAway) || problem.AsError(asked).Kind != problem.Away {
		t.Errorf("%v, %+v, and a host whose polls are old is asked: %v", err, list, asked)
	}
	r.cluster.ahead("")
	r.cluster.silent.Clear()

	// What is removed is also removed from Temporal, or it would be in lists again while its host is away.
	if gone, err := r.Remove(t.Context(), first, adroit.RemoveOptions{}); err != nil || len(gone.Notes) > 0 {
		t.Errorf("%+v, %v", gone, err)
	}
	until(t, func() error {
		if list, err := r.Jobs(t.Context(), adroit.ListOptions{}); err != nil || len(list) != 1 {
			return fmt.Errorf("%w: %+v", err, list)
		}
		if _, err := r.cluster.c.DescribeWorkflowExecution(t.Context(), first, ""); !errors.As(err, new(*serviceerror.NotFound)) {
			return fmt.Errorf("Temporal has it still: %w", err)
		}
		return nil
	})

	// One that is too large is refused before there is a job, and without hosts nobody is named.
	q.Prompt = strings.Repeat("x", mostBytes)
	if _, err := r.Submit(t.Context(), q); err == nil || !strings.HasPrefix(err.Error(), "the request: 10") {
		t.Errorf("a request that is too large: %v", err)
	}
	r.kill(r.worker)
	if _, err := r.Agents(t.Context(), adroit.Scope{}); err == nil || !strings.HasPrefix(err.Error(), "no worker polls Temporal") {
		t.Errorf("without workers: %v", err)
	}
}

// TestTerminate ends the workflow of a job in Temporal itself: its host records that. One that is deleted there
// in the middle of a call is given back, and goes on from what its host has.
func TestTerminate(t *testing.T) {
	r := newRig(t, "calls: [{name: push, args: {n: 1}}]", "calls: [{name: work, args: {n: 2, delay: 40s}}]", "text: Done.")
	id := r.begin(executor.ApproveEdits)
	r.ended(id, jobs.Waiting)
	if err := r.cluster.c.TerminateWorkflow(t.Context(), id, "", "by hand"); err != nil {
		t.Fatal(err)
	}
	until(t, func() error {
		d, err := r.Job(t.Context(), id)
		if err == nil && (d.Job.Status != jobs.Cancelled || !strings.Contains(d.Job.Reason, "terminated in Temporal: by hand")) {
			err = fmt.Errorf("it is %s: %s", d.Job.Status, d.Job.Reason)
		}
		return err
	})

	id = r.begin(executor.ApproveAll)
	begun := func(n int) {
		t.Helper()
		until(t, func() error {
			if got := r.effects(); got["begin 2"] != n {
				return fmt.Errorf("effects are %v", got)
			}
			return nil
		})
	}
	begun(1)
	of := &common.WorkflowExecution{WorkflowId: id}
	if _, err := r.cluster.c.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{Namespace: "default", WorkflowExecution: of}); err != nil {
		t.Fatal(err)
	}
	until(t, func() error {
		d, err := r.Job(t.Context(), id)
		if err == nil && (d.Job.Status != jobs.Interrupted || d.Job.Reason != errLost.Error()) {
			err = fmt.Errorf("it is %s: %s", d.Job.Status, d.Job.Reason)
		}
		return err
	})
	if _, err := r.Start(t.Context(), id, adroit.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	begun(2)
	if got := r.effects(); got["begin 1"] != 1 || got["stopped 2"] != 1 {
		t.Errorf("effects are %v", got)
	}
	if _, err := r.Cancel(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// TestHostName has workers of one data directory start at once: they have one name.
func TestHostName(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	names := make(chan string, 20)
	for range cap(names) {
		go func() {
			name, err := hostName(data, "")
			names <- fmt.Sprint(name, err)
		}()
	}
	first := <-names
	for range cap(names) - 1 {
		if name := <-names; name != first || !strings.HasSuffix(name, "<nil>") {
			t.Errorf("%q and %q", first, name)
		}
	}
	if _, err := hostName(data, "another"); err == nil {
		t.Error("the name was exchanged")
	}
	for _, name := range []string{"a b", "a/b", Queue, strings.Repeat("x", mostName+1)} {
		if _, err := hostName(filepath.Join(t.TempDir(), "data"), name); err == nil {
			t.Errorf("%q is the name of a host", name)
		}
	}
}

// TestCopy has copies of a host's data directory: while a worker of the host lives, and after a later start of it.
// They are not the host, and may become hosts of their own. One that began while the host was away is the host
// from then on, and the other one's worker ends. Then a copy with a name of its own goes on with its jobs.
func TestCopy(t *testing.T) {
	r := newRig(t, "calls: [{name: push, args: {n: 1}}]", "text: Done.")
	id := r.begin(executor.ApproveEdits)
	r.ended(id, jobs.Waiting)
	enter := func(data, host, want string) {
		t.Helper()
		name, err := r.cluster.enter(t.Context(), r.file(data), host)
		if got := fmt.Sprint(name, err); !strings.Contains(got, want) {
			t.Errorf("%s as %q: %s, want %q", data, host, got, want)
		}
	}
	for _, to := range []string{"copied", "late"} {
		if err := os.CopyFS(r.file(to), os.DirFS(r.file("data"))); err != nil {
			t.Fatal(err)
		}
	}
	enter("copied", "", "is a copy of the data directory of the host "+r.host)
	r.kill(r.worker)
	enter("late", "", r.host) // nobody answers
	enter("data", "", "is an old copy of the data directory of the host "+r.host)
	enter("data", r.host, "is an old copy")
	r.worker, _ = r.workFor("late", "worker")
	enter("late", "other", "this data directory is that of the host "+r.host)
	enter("data", r.host+"-2", r.host+"-2")
	second, host := r.workFor("data", "worker")
	t.Cleanup(func() { r.kill(second) })
	if host != r.host+"-2" {
		t.Errorf("it is %s now", host)
	}
	enter("copied", host, "there is a host "+host)
	until(t, func() error {
		list, err := r.Jobs(t.Context(), adroit.ListOptions{})
		if err == nil && len(list) != 1 {
			err = fmt.Errorf("%d jobs are listed", len(list))
		}
		return err
	})
	if err := r.cluster.start(t.Context(), r.file("copied"), r.host); err != nil { // as two copies that begin at the same moment
		t.Fatal(err)
	}
	if err := r.worker.Wait(); err == nil {
		t.Error("a worker whose place was taken ended without an error")
	}
	next, _, _ := strings.Cut(strings.Fields(r.command(4, "waiting for a person", "continue", id, "--host", host))[6], ";")
	r.command(0, "Done.", "answer", "approve", next)
	r.ended(id, jobs.Cancelled)
	if got := r.effects(); !maps.Equal(got, map[string]int{"begin 1": 1, "end 1": 1}) {
		t.Errorf("effects are %v", got)
	}
}

// TestCommands leads jobs on a real server by the commands of a person.
func TestCommands(t *testing.T) {
	r := newRig(t, "calls: [{name: push, args: {n: 1}}]", "text: Pushed.", "text: Said more.")
	command := r.command
	id, _, _ := strings.Cut(command(0, "running in the background", "run", "-d", "--approve", "edits", "-C", r.file("workspace"), "worker", "Go."), "\n")
	command(4, "waiting", "jobs", "wait", id)
	if shown := command(0, "push", "jobs", "show", id); !regexp.MustCompile(`(?m)^host +` + r.host + "$").MatchString(shown) {
		t.Errorf("it does not name the host %s:\n%s", r.host, shown)
	}
	command(0, "Pushed.", "answer", "approve", id)
	command(0, "Pushed.", "jobs", "wait", id)
	command(0, "Pushed.", "jobs", "logs", "-f", id)
	command(0, "Said more.", "continue", id, "Say more.")
	command(0, id, "jobs", "list", "--all")
	command(4, "on temporal", "jobs", "retry", id)
	second := ""
	for line := range strings.Lines(command(0, "waiting", "jobs", "list", "--all")) {
		if first := strings.Fields(line)[0]; first != id {
			second = first
		}
	}
	command(0, "cancelled", "jobs", "cancel", second)
	command(0, "removed", "jobs", "rm", second)
	command(2, "no such job", "jobs", "show", second)
	command(0, "ok     workers            1 host: "+r.host, "worker", "doctor")
	command(0, "", "config", "set", "temporal.key_file", r.file("keys"))
	command(1, "is not there\nadroit: hint: adroit worker key makes it", "jobs", "list", "--all")
	command(0, "has the key", "worker", "key")
	command(1, "fault  workers            the call of the host "+r.host+": no worker can go on with it", "worker", "doctor") // it lacks the key
}

// TestServe has adroit serve offer the jobs of the cluster, not those of its own process.
func TestServe(t *testing.T) {
	r := newRig(t, "text: Done.")
	id := r.begin(executor.ApproveAll)
	r.ended(id, jobs.Done)
	token := strings.Repeat("t", 40)
	env := map[string]string{"HOME": r.dir, "ADROIT_HOME": r.file("client"), "TEMPORAL_ADDRESS": r.address, "ADROIT_TOKEN": token}
	in, out := io.Pipe()
	p := cli.Program{Parts: parts.All(), Stdout: io.Discard, Stderr: out, Getenv: func(name string) string { return env[name] }, Engine: func(ctx context.Context, at config.Temporal) (cli.Engine, error) {
		return Dial(ctx, at)
	}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- p.Run(ctx, "serve", "--engine", "temporal", "--listen", "127.0.0.1:0", "-C", r.file("workspace"))
		out.Close()
	}()
	defer func() { stop(); <-ended }()
	lines := bufio.NewReader(in)
	line, err := lines.ReadString('\n')
	_, rest, ok := strings.Cut(line, "listening on ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	go io.Copy(io.Discard, lines) //nolint:errcheck // it ends with the server
	url, _, _ := strings.Cut(rest, ";")
	c := api.NewClient(url, &http.Client{Transport: bearer(token)})
	d, err := c.Job(t.Context(), id)
	if err != nil || d.Config.Engine != "temporal" || d.Config.Host != r.host {
		t.Errorf("the server has %+v, %v", d, err)
	}
	q := adroit.Request{Target: "worker"}
	q.Prompt, q.Dir = "Again.", r.file("workspace")
	s, err := c.Submit(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if d, err = r.Job(t.Context(), s.Job.ID); err != nil || d.Config.Host != r.host {
		t.Errorf("the request went to %+v, %v", d, err)
	}
}

// A bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestAllEvents follows the jobs of two hosts, one of which goes away meanwhile, with a reader that goes on
// after its last event again and again: it has every event once, in the order of its job.
func TestAllEvents(t *testing.T) {
	r := newRig(t, "calls: [{name: work, args: {n: 1}}]", "calls: [{name: work, args: {n: 2}}]", "text: Done.")
	if err := os.Mkdir(r.file("other"), 0o700); err != nil {
		t.Fatal(err)
	}
	second, host := r.workFor("other", "worker")
	t.Cleanup(func() { r.kill(second) })
	begin := func(host string) string {
		q := adroit.Request{Target: "worker"}
		q.Prompt, q.Dir, q.Approve, q.Host, q.Engine = "Go.", r.file("workspace"), executor.ApproveAll, host, "temporal"
		s, err := r.Submit(t.Context(), q)
		if err == nil {
			_, err = r.Start(t.Context(), s.Job.ID, adroit.StartOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		return s.Job.ID
	}
	seen, after, finished := map[string]int64{}, int64(0), 0
	read := func(want int) {
		t.Helper()
		until(t, func() error {
			n := 0
			for ev, err := range r.AllEvents(t.Context(), adroit.EventOptions{After: after, Follow: true}) {
				if err != nil {
					return err
				}
				if ev.ID <= after || ev.Seq != seen[ev.Job]+1 {
					t.Fatalf("event %d of %s with the number %d comes after %d with %d", ev.Seq, ev.Job, ev.ID, seen[ev.Job], after)
				}
				after, seen[ev.Job] = ev.ID, ev.Seq
				if ev.Kind == event.JobFinished {
					finished++
				}
				if n++; n == 7 || finished == want {
					break
				}
			}
			if finished < want {
				return fmt.Errorf("%d jobs have ended", finished)
			}
			return nil
		})
	}
	ids := []string{begin(r.host), begin(host)}
	read(2)
	r.kill(second)
	ids = append(ids, begin(r.host))
	read(3)
	second, _ = r.workFor("other", "worker")
	ids = append(ids, begin(host))
	read(4)
	all := 0
	for _, err := range r.AllEvents(t.Context(), adroit.EventOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		all++
	}
	want := 0
	for _, id := range ids {
		want += int(seen[id])
	}
	if len(seen) != len(ids) || all != want {
		t.Errorf("%d events of %v, want %d of %v", all, seen, want, ids)
	}
}

// TestPlacement places jobs from the command line: by the name of a host, and by its labels.
func TestPlacement(t *testing.T) {
	r := newRig(t, "text: Done.")
	if err := os.Mkdir(r.file("other"), 0o700); err != nil {
		t.Fatal(err)
	}
	second, host := r.workFor("other", "worker")
	t.Cleanup(func() { r.kill(second) })
	env := map[string]string{"HOME": r.dir, "ADROIT_HOME": r.file("client"), "TEMPORAL_ADDRESS": r.address}
	run := func(code int, args ...string) (out, shown string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		p := cli.Program{Parts: parts.All(), Stdout: &stdout, Stderr: &stderr, Getenv: func(name string) string { return env[name] }, Engine: func(ctx context.Context, at config.Temporal) (cli.Engine, error) {
			return Dial(ctx, at)
		}}
		args = append([]string{"run", "-d", "--engine", "temporal", "-C", r.file("workspace")}, args...)
		if got := p.Run(t.Context(), append(args, "worker", "Go.")...); got != code {
			t.Errorf("%q ends with %d: %s", args, got, &stderr)
		}
		return strings.TrimSpace(stdout.String()), stderr.String()
	}
	var ids []string
	for _, c := range []struct {
		args []string
		host string
	}{{[]string{"--host", r.host}, r.host}, {[]string{"--host", host}, host}, {[]string{"--label", "data"}, r.host}, {[]string{"--label", "other"}, host}} {
		id, _ := run(0, c.args...)
		ids = append(ids, id)
		d, err := r.Job(t.Context(), id)
		if err != nil || d.Config.Host != c.host {
			t.Errorf("%q runs on %+v, %v, want %s", c.args, d, err, c.host)
		}
	}
	for _, id := range ids {
		r.ended(id, jobs.Done)
	}
	slices.Sort(ids)
	// What is asked of all hosts has the jobs of all.
	pruned, err := r.Prune(t.Context(), adroit.PruneOptions{DryRun: true})
	if err == nil {
		slices.Sort(pruned.Removed)
	}
	if err != nil || !slices.Equal(pruned.Removed, ids) {
		t.Errorf("prune of two hosts: %+v, %v, want %q", pruned, err, ids)
	}
	if list, err := r.Failures(t.Context(), adroit.FailureQuery{}); err != nil || list == nil || len(list) > 0 {
		t.Errorf("failures of two hosts: %v, %v", list, err)
	}
	if s, err := r.FailureStats(t.Context(), adroit.StatsQuery{}); err != nil || s == nil {
		t.Errorf("statistics of two hosts: %v, %v", s, err)
	}
	if n, err := r.ForgetFailures(t.Context(), adroit.FailureQuery{}); err != nil || n != 0 {
		t.Errorf("forgetting on two hosts: %d, %v", n, err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{`asks for a host with the label "data", and the host has other`, []string{"--label", "data", "--label", "other"}},
		{r.host + `: the request asks for a host with the label "other"`, []string{"--label", "data", "--label", "other"}},
		{`asks for a host with the label "none", and the host has `, []string{"--label", "none"}},
		{`the request asks for a host with the label "data", and the host has other`, []string{"--host", host, "--label", "data"}},
		{"Temporal knows no host " + host + `x (did you mean "` + host + `"?)`, []string{"--host", host + "x"}},
	} {
		if _, shown := run(2, c.args...); !strings.Contains(shown, c.want) {
			t.Errorf("%q: %s", c.args, shown)
		}
	}
	// What is removed is removed from Temporal, too, which takes it half a minute after the end of a job.
	if pruned, err = r.Prune(t.Context(), adroit.PruneOptions{}); err != nil || len(pruned.Removed) != len(ids) || len(pruned.Notes) > 0 {
		t.Errorf("prune of two hosts: %+v, %v, want %q", pruned, err, ids)
	}
	for _, id := range ids {
		until(t, func() error {
			if _, err := r.cluster.c.DescribeWorkflowExecution(t.Context(), id, ""); !errors.As(err, new(*serviceerror.NotFound)) {
				return fmt.Errorf("Temporal has %s still: %w", id, err)
			}
			return nil
		})
	}
	r.kill(second)
	if _, shown := run(1, "--host", host); !strings.HasPrefix(shown, "adroit: error: the host "+host+": it does not answer") {
		t.Errorf("a host that is away: %s", shown)
	}
	lost := func() int64 { // calls that waited for a host
		n, err := r.cluster.c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default", Query: "WorkflowType = 'adroit.call' AND ExecutionStatus = 'Failed'"})
		if err != nil {
			t.Fatal(err)
		}
		return n.GetCount()
	}
	before := lost()
	run(0, "--host", r.host)
	if n := lost() - before; n != 0 {
		t.Errorf("a job of one host has %d calls wait for another one that is away", n)
	}
	if err := r.cluster.Work(t.Context(), nil, r.file("fresh"), host, nil); err == nil || !strings.Contains(err.Error(), "there is a host "+host+", and ") {
		t.Errorf("two data directories have one name: %v", err)
	}
}

// TestClient holds the suite of every client against jobs on a real server: what is asked for
// goes through workflows, and steps, events, undo and merge are those of the host.
func TestClient(t *testing.T) {
	r := served(t)
	var all *Cluster
	until(t, func() (err error) { all, err = Dial(t.Context(), r.at); return err })
	t.Cleanup(func() { all.Close() })
	var own *Cluster
	n := 0
	adroittest.Test(t, func(t *testing.T, rt *adroit.Runtime) adroit.Client {
		ctx, stop := context.WithCancel(context.Background())
		ready, ended := make(chan string), make(chan error, 1)
		go func() {
			ended <- own.Work(ctx, rt, t.TempDir(), own.queue+"-host", func(host string) { ready <- host })
		}()
		select {
		case <-ready:
		case err := <-ended:
			t.Fatal(err)
		}
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		return own.Client()
	}, adroittest.GoesOn(), adroittest.Without("live", "live from start"), adroittest.With(func(o *adroit.Options) {
		n++
		own = &Cluster{c: all.c, namespace: all.namespace, queue: fmt.Sprint("part-", n), store: all.store, build: unversioned, now: time.Now}
		o.Elsewhere = own
	}))
}
