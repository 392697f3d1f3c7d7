package temporal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "go.temporal.io/api/sdk/v1"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/adroit/adroittest"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/cli"
	"github.com/adroit-run/adroit/pkg/config"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
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

// work is a worker with a scripted model and two tools: work may be repeated, push may not.
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
	rt, err := adroit.Open(ctx, adroit.Options{
		Tools: []tools.Tool{
			tools.New(tools.Metadata{Name: "work", Description: "Work; safe to repeat.", Category: "utility", Effect: tools.Idempotent}, effect),
			tools.New(tools.Metadata{Name: "push", Description: "Push; not to be repeated.", Category: "utility", Effect: tools.Unsafe, Asks: "it cannot be taken back"}, effect),
		},
		Models:  map[string]llm.Model{"script": model},
		Model:   "script/turns",
		Storage: adroit.Storage{Data: data, Store: sqlite.Store(data), Elsewhere: t}, Workspace: adroit.Workspace{Trust: data},
		Definitions: adroit.Definitions{Literals: []agents.DynamicAgent{
			{Name: cmp.Or(os.Getenv("AGENT"), "worker"), Description: "Works.", Prompt: "You work.", Tools: []string{"work", "push"}},
		}},
	})
	if err != nil {
		return err
	}
	return errors.Join(t.Work(ctx, rt, data, "", func(host string) { fmt.Println("ready", host) }), rt.Close())
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
	cluster *Cluster
	adroit.Client
}

// served starts a server alone.
func served(t *testing.T) *rig {
	r := &rig{t: t, dir: t.TempDir(), bin: testenv.NeedsVariable(t, "TEMPORAL_BIN", "temporal/build.sh")}
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
	t := r.t
	text := "turns:\n  - " + strings.Join(turns, "\n  - ") + "\n"
	if err := errors.Join(os.WriteFile(r.file("script.yaml"), []byte(text), 0o600), os.Mkdir(r.file("workspace"), 0o700), os.Mkdir(r.file("data"), 0o700)); err != nil {
		t.Fatal(err)
	}
	r.work()
	until(t, 30*time.Second, func() (err error) { r.cluster, err = Dial(t.Context(), r.at); return err })
	t.Cleanup(func() { r.kill(r.worker); r.cluster.Close() })
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
	until(r.t, 30*time.Second, func() error {
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
	until(r.t, 60*time.Second, func() error {
		c = exec.Command(os.Args[0], "work", r.address, r.file(data), r.file("script.yaml"))
		c.Env = append(os.Environ(), "EFFECTS="+r.file("effects"), "AGENT="+agent, "KEY_FILE="+r.at.KeyFile, "STORE="+r.at.Store)
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

// begin starts a job.
func (r *rig) begin(approve executor.Approve) string {
	r.t.Helper()
	q := adroit.Request{Target: "worker"}
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
	until(r.t, 2*time.Minute, func() error {
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

func until(t *testing.T, d time.Duration, f func() error) {
	t.Helper()
	for end := time.Now().Add(d); ; time.Sleep(200 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %s: %v", d, err)
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

const calls = 12

func turns(tool, delay string) (out []string) {
	for i := range calls {
		out = append(out, fmt.Sprintf("calls: [{name: %s, args: {n: %d, delay: %s}}]", tool, i, delay))
	}
	return append(out, "text: Done.")
}

// TestKill kills the worker, the server and both in the middle of jobs: they go on by
// themselves, nothing is left out, and what must not be repeated is not.
func TestKill(t *testing.T) {
	for _, tool := range []string{"work", "push"} {
		t.Run(tool, func(t *testing.T) {
			r := newRig(t, turns(tool, "300ms")...)
			id := r.begin(executor.ApproveAll)
			for i := range 5 {
				time.Sleep(time.Duration(500+rand.N(1500)) * time.Millisecond)
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

// TestCancel ends a job in a long call, within the time in which the worker learns of it.
func TestCancel(t *testing.T) {
	r := newRig(t, "calls: [{name: work, args: {n: 1, delay: 40s}}]", "text: Done.")
	id := r.begin(executor.ApproveAll)
	until(t, 30*time.Second, func() error {
		if r.effects()["begin 1"] == 0 {
			return errors.New("not begun")
		}
		return nil
	})
	start := time.Now()
	j, err := r.Cancel(t.Context(), id)
	if took := time.Since(start); err != nil || j.Status != jobs.Cancelled || took > 8*time.Second {
		t.Errorf("%+v, %v, after %s", j, err, took)
	}
	if got := r.effects(); got["stopped 1"] != 1 {
		t.Errorf("the call was not stopped: %v", got)
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
	until(t, 30*time.Second, func() error { // a machine under load takes a call late
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
}

// TestDrain stops a worker in the middle of a call that must not be repeated: the call ends, the
// next worker goes on behind it, and who follows the job sees no gap.
func TestDrain(t *testing.T) {
	r := newRig(t, "calls: [{name: push, args: {n: 1, delay: 3s}}]", "calls: [{name: work, args: {n: 2}}]", "text: Done.")
	id := r.begin(executor.ApproveAll)
	until(t, 30*time.Second, func() error {
		if r.effects()["begin 1"] == 0 {
			return errors.New("not begun")
		}
		return nil
	})
	followed := make(chan error, 1)
	go func() {
		last := int64(0)
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
	if err := r.worker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := r.worker.Wait(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	if got := r.effects(); got["end 1"] != 1 {
		t.Errorf("the call was not let end: %v", got)
	}
	r.work()
	r.ended(id, jobs.Done)
	if got := r.effects(); got["begin 1"] != 1 || got["end 2"] != 1 {
		t.Errorf("effects are %v", got)
	}
	select {
	case err := <-followed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
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
	until(t, 10*time.Second, func() error { // Temporal's list lags
		list, err := r.Jobs(t.Context(), adroit.ListOptions{})
		if err != nil || len(list) != 2 || list[0].ID != s.Job.ID || list[1].ID != first {
			return fmt.Errorf("%w: %+v", err, list)
		}
		return nil
	})
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
	if _, err := r.Job(t.Context(), "J0000000000000"); err == nil || !strings.Contains(err.Error(), "unknown whether") || !strings.Contains(err.Error(), host) {
		t.Errorf("a job that the host which is away may have: %v", err)
	}
	if _, err := r.Signal(t.Context(), s.Job.ID, adroit.Signal{Name: "approve", Question: j.Questions[0].Path}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context(), s.Job.ID, adroit.StartOptions{}); err == nil || !strings.Contains(err.Error(), "has its answer") {
		t.Errorf("a start while the host is away: %v", err)
	}
	second, _ = r.workFor("other", "helper")
	r.ended(s.Job.ID, jobs.Done)
}

// TestTerminate ends the workflow of a job in Temporal itself: its host records that.
func TestTerminate(t *testing.T) {
	r := newRig(t, "calls: [{name: push, args: {n: 1}}]", "text: Done.")
	id := r.begin(executor.ApproveEdits)
	r.ended(id, jobs.Waiting)
	if err := r.cluster.c.TerminateWorkflow(t.Context(), id, "", "by hand"); err != nil {
		t.Fatal(err)
	}
	until(t, time.Minute, func() error {
		d, err := r.Job(t.Context(), id)
		if err == nil && (d.Job.Status != jobs.Cancelled || !strings.Contains(d.Job.Reason, "terminated")) {
			err = fmt.Errorf("it is %s: %s", d.Job.Status, d.Job.Reason)
		}
		return err
	})
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
}

// TestCommands leads jobs on a real server by the commands of a person.
func TestCommands(t *testing.T) {
	r := newRig(t, "calls: [{name: push, args: {n: 1}}]", "text: Pushed.", "text: Said more.")
	env := map[string]string{"HOME": r.dir, "ADROIT_HOME": r.file("client"), "TEMPORAL_ADDRESS": r.address}
	command := func(code int, want string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		p := cli.Program{Parts: parts.All(), Stdout: &out, Stderr: &out, Getenv: func(name string) string { return env[name] }, Engine: func(ctx context.Context, at config.Temporal) (cli.Engine, error) {
			return Dial(ctx, at)
		}}
		if got := p.Run(t.Context(), append([]string{"--engine", "temporal"}, args...)...); got != code || !strings.Contains(out.String(), want) {
			t.Errorf("%q ends with %d, want %d and %q:\n%s", args, got, code, want, &out)
		}
		return out.String()
	}
	id, _, _ := strings.Cut(command(0, "running in the background", "run", "-d", "--approve", "edits", "-C", r.file("workspace"), "worker", "Go."), "\n")
	command(4, "waiting", "jobs", "wait", id)
	command(0, "push", "jobs", "show", id)
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
}

// TestClient holds the suite of every client against jobs on a real server: what is asked for
// goes through workflows, and steps, events, undo and merge are those of the host.
func TestClient(t *testing.T) {
	r := served(t)
	var all *Cluster
	until(t, 30*time.Second, func() (err error) { all, err = Dial(t.Context(), r.at); return err })
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
		own = &Cluster{c: all.c, namespace: all.namespace, queue: fmt.Sprint("part-", n), store: all.store}
		o.Elsewhere = own
	}))
}
