package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// servedScripts are run once more through a server in a process of its own. Others
// change the configuration or the data directory as they go, kill the process that
// runs a job, or are about commands that no server does.
var servedScripts = []string{
	"agents", "approve", "attach", "cancel", "commit", "continue", "done", "failed", "files", "hooks", "injection", "json", "memory", "parts", "permissions", "pipelineawait",
	"pipelineparallel", "pipelines", "prune", "resume", "retryfrom", "skills", "steps", "stuck", "subtrees", "taint", "transcript", "usage", "validate", "waiting", "workflow_asks",
	"workflow_supervisor", "workflow_until", "worktree",
}

// TestScriptsServed runs a sixth of the scripts through adroit serve, or all of them
// as make kill does: each command is a process that sends requests to it.
func TestScriptsServed(t *testing.T) {
	t.Parallel()
	files := []string{}
	first, step := sample(t, 6)
	for i := first; i < len(servedScripts); i += step {
		files = append(files, filepath.Join("testdata", servedScripts[i]+".txt"))
	}
	testscript.Run(t, testscript.Params{
		Files: files, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			if err := setup(t, env); err != nil {
				return err
			}
			bin, err := exec.LookPath("adroit") // testscript.Main has put it there
			if err != nil {
				return err
			}
			s := startServer(t, bin, env.Vars, env.WorkDir, "serve", "--listen", "127.0.0.1:0")
			env.Defer(func() {
				if err := s.stop(); err != nil {
					t.Errorf("the server: %v", err)
				}
			})
			env.Setenv("ADROIT_SERVER", s.url)
			return nil
		},
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"code": code},
		Condition: has(os.Getenv("PATH")),
	})
}

var listening = regexp.MustCompile(`listening on (https?://[][0-9.:]+)`)

// A server is adroit serve in a process of its own.
type server struct {
	*exec.Cmd
	url  string
	link chan string // that lets a browser in
}

// startServer starts adroit, which has to print its address. It is killed when the test ends.
func startServer(t *testing.T, bin string, env []string, dir string, args ...string) *server {
	t.Helper()
	s := &server{Cmd: exec.Command(bin), link: make(chan string, 1)}
	s.Args = append([]string{"adroit"}, args...)
	s.Env, s.Dir = env, dir
	out, err := s.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() }) // it may have ended
	r := bufio.NewReader(out)
	for printed := ""; s.url == ""; {
		line, err := r.ReadString('\n')
		printed += line
		if m := listening.FindStringSubmatch(line); m != nil {
			s.url = m[1]
		} else if err != nil {
			t.Fatalf("the server printed %q: %v", printed, err)
		}
	}
	go func() { // until it ends
		for line, err := r.ReadString('\n'); err == nil; line, err = r.ReadString('\n') {
			if link, _, found := strings.Cut(strings.TrimPrefix(line, "adroit: "), " lets one browser in"); found {
				s.link <- link
			}
		}
	}()
	return s
}

// stop ends the server as a person does.
func (s *server) stop() error {
	_ = s.Process.Signal(syscall.SIGTERM) // it may have ended
	return s.Wait()
}

// At /mcp a client with the token calls an agent; at /v1/ the job is there, too.
func TestServeMCP(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": handAgent, "turns.yaml": "turns:\n  - calls: [{name: finish, args: {summary: Made.}}]\n"})
	served := startServer(t, p.bin, p.env, p.path("repo"), "serve", "--listen", "127.0.0.1:0", "--agent", "hand", "--approve", "all", "-m", "script:../turns.yaml")
	defer func() {
		if err := served.stop(); err != nil {
			t.Errorf("the server: %v", err)
		}
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	connect := func(token string) (*sdk.ClientSession, error) {
		return client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: served.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}}, nil)
	}
	if _, err := connect("another token"); err == nil {
		t.Error("another token is accepted")
	}
	s, err := connect(strings.TrimSpace(p.read("data/adroit.token")))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "hand", Arguments: map[string]any{"prompt": "make it"}})
	if err != nil || r.IsError {
		t.Fatal(r, err)
	}
	// The model of the server is also that of requests to /v1/ that name none.
	if code, out := p.run("--server", served.url, "run", "hand", "make it", "-C", p.path("repo")); code != 0 || !strings.Contains(out, "Made.") {
		t.Errorf("%d %s", code, out)
	}
	if code, out := p.run("--server", served.url, "run", "hand", "make it", "-C", p.path("repo"), "-m", "none/such"); code != 2 || !strings.Contains(out, "none") {
		t.Errorf("%d %s", code, out)
	}
	if code, out := p.run("--server", served.url, "doctor"); code != 0 || !regexp.MustCompile(`fine +model +script:.*turns\.yaml`).MatchString(out) {
		t.Errorf("doctor judges by another model: %d %s", code, out)
	}
	if code, out := p.run("--server", served.url, "jobs", "list"); code != 0 || !regexp.MustCompile(`hand +done`).MatchString(out) {
		t.Errorf("%d %s", code, out)
	}
}

// The mode, approval and level of a server are those of jobs and calls at /v1/ that name none.
func TestServeMode(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": handAgent, "turns.yaml": "turns:\n  - calls: [{name: finish, args: {summary: Made.}}]\n"})
	served := startServer(t, p.bin, p.env, p.path("repo"), "serve", "--listen", "127.0.0.1:0", "--mode", "plan", "--approve", "none", "--sandbox", "off", "-m", "script:../turns.yaml")
	defer func() { _ = served.stop() }()
	if code, out := p.run("--server", served.url, "tools", "call", "write_file", `{"path":"new.txt","content":"x"}`, "-C", p.path("repo")); code != 1 || !strings.Contains(out, "the mode is plan") {
		t.Errorf("%d %s", code, out)
	}
	if code, out := p.run("--server", served.url, "run", "hand", "make it", "-C", p.path("repo"), "--dry-run"); code != 0 || !regexp.MustCompile(`(?m)^mode +plan(.*\n)+approve +none`).MatchString(out) {
		t.Errorf("%d %s", code, out)
	}
}

// With a certificate a server listens for others, as the error for an address without one
// has it.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	dirtest.Must(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	dirtest.Must(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	dirtest.Must(t, err)
	for name, block := range map[string]pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: secret}} {
		dirtest.Must(t, os.WriteFile(p.path(name), pem.EncodeToMemory(&block), 0o600))
	}
	const listen = "0.0.0.0:0"
	out := p.ok(2, "serve", "--listen", listen)
	words := strings.Fields(out[strings.Index(out, "adroit serve --cert FILE --key FILE"):])
	if words[3], words[5] = p.path("cert.pem"), p.path("key.pem"); words[2] != "--cert" || words[4] != "--key" {
		t.Fatalf("it prints %q", out)
	}
	served := startServer(t, p.bin, p.env, p.path("repo"), append(words[1:6], "--listen", listen)...)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(served.url, "https://"))
	dirtest.Must(t, err)
	p.env = append(p.env, "SSL_CERT_FILE="+p.path("cert.pem"), "ADROIT_TOKEN="+strings.TrimSpace(p.read("data/adroit.token")))
	p.ok(0, "--server", "https://127.0.0.1:"+port, "jobs")
	dirtest.Must(t, served.stop())
}

// A bearer sends a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// However the server ends, the next one goes on with its job; a command that only
// watched does not end it.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]os.Signal{"kill": syscall.SIGKILL, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": handAgent, "turns.yaml": `turns:
  - calls: [{name: shell, args: {command: "echo once >>log"}}]
  - calls: [{name: shell, args: {command: "until [ -e go ]; do sleep 0.05; done"}}]
  - calls: [{name: finish, args: {summary: Made.}}]
`})
			serve := func() *server {
				return startServer(t, p.bin, p.env, p.path("repo"), "serve", "--listen", "127.0.0.1:0")
			}
			adroit := func(url string, args ...string) string {
				t.Helper()
				cmd := exec.Command(p.bin)
				cmd.Args = append([]string{"adroit", "--server", url}, args...)
				cmd.Env, cmd.Dir = p.env, p.path("repo")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("adroit %s: %v\n%s", strings.Join(args, " "), err, out)
				}
				return string(out)
			}
			server := serve()
			url := server.url
			id := regexp.MustCompile(`J[0-9A-Z]{12,}`).FindString(adroit(url, "run", "--detach", "hand", "make it", "--approve", "all", "-m", "script:../turns.yaml"))
			watch := exec.Command(p.bin)
			watch.Args = []string{"adroit", "--server", url, "jobs", "logs", id, "-f", "--json"}
			watch.Env = p.env
			out, err := watch.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := watch.Start(); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(out)
			for calls := 0; calls < 2; {
				line, err := r.ReadString('\n')
				if err != nil {
					t.Fatal("the job does not get to its second command: ", err)
				}
				if strings.Contains(line, `"step.started"`) && strings.Contains(line, `"shell"`) {
					calls++
				}
			}
			_ = watch.Process.Kill()
			_ = watch.Wait()
			if got := adroit(url, "jobs", "show", id); !strings.Contains(got, "running") {
				t.Errorf("after its watcher was killed: %s", got)
			}
			if err := server.Process.Signal(end); err != nil {
				t.Fatal(err)
			}
			if err := server.Wait(); end == syscall.SIGTERM && err != nil {
				t.Errorf("the server: %v", err)
			}
			if err := os.WriteFile(p.path("repo/go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			url = serve().url
			adroit(url, "continue", id)
			if got := adroit(url, "jobs", "show", id); !strings.Contains(got, "done") {
				t.Errorf("resumed: %s", got)
			}
			if got := p.read("repo/log"); got != "once\n" {
				t.Errorf("log holds %q", got)
			}
		})
	}
}

// Readers follow the events of all jobs, over one server after another.
type readers struct {
	url     atomic.Value // of the server
	stop    context.CancelFunc
	reading sync.WaitGroup
	mu      sync.Mutex
	got     [3][]string // ids of events
	begun   int         // commands, as the first reader sees it
}

// follow has three readers follow all jobs, each from where it was when its server went.
func follow(t *testing.T, url, token string) *readers {
	t.Helper()
	f := new(readers)
	f.url.Store(url)
	ctx, stop := context.WithCancel(t.Context())
	f.stop = stop
	t.Cleanup(func() { stop(); f.reading.Wait() })
	for i := range f.got {
		f.reading.Go(func() {
			for last := ""; ctx.Err() == nil; {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url.Load().(string)+"/v1/events?follow=true", nil)
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("Last-Event-ID", last)
				res, err := http.DefaultTransport.RoundTrip(r)
				if err != nil {
					time.Sleep(20 * time.Millisecond)
					continue
				}
				last = f.read(i, last, res.Body)
				res.Body.Close()
			}
		})
	}
	return f
}

// read reads events until the server goes, and returns the id of the last whole one.
func (f *readers) read(i int, last string, from io.Reader) string {
	id, data, lines := "", "", bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return last
		}
		if n, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(n)
		}
		if strings.HasPrefix(line, "data: ") {
			data = line
		}
		if line == "\n" && id != "" {
			f.mu.Lock()
			f.got[i] = append(f.got[i], id)
			if i == 0 && strings.Contains(data, `"step.started"`) && strings.Contains(data, `"shell"`) {
				f.begun++
			}
			f.mu.Unlock()
			last, id = id, ""
		}
	}
}

// patience is how long these tests wait for what has to happen: a deadline, and no measure.
const patience = 5 * time.Minute

// ended waits for the readers to have so many events, each of them once and in order.
func (f *readers) ended(t *testing.T, total int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		f.mu.Lock()
		whole := true
		for i := range f.got {
			whole = whole && len(f.got[i]) >= total
		}
		f.mu.Unlock()
		if whole || time.Now().After(deadline) {
			break
		}
	}
	f.stop()
	f.reading.Wait()
	for i := range f.got {
		if len(f.got[i]) != total {
			t.Errorf("reader %d has %d events, want %d", i, len(f.got[i]), total)
		}
		last := 0
		for _, id := range f.got[i] {
			n, err := strconv.Atoi(id)
			if err != nil || n <= last {
				t.Fatalf("reader %d: %q after %d, %v", i, id, last, err)
			}
			last = n
		}
	}
}

// A server is killed again and again while three readers follow all jobs: each connects again and
// has every event once, in order, those of a job that runs without the server included.
func TestServeKilledReaders(t *testing.T) {
	t.Parallel()
	turns := "turns:\n"
	const calls = 3 // after more commands that fail in the same way the job is stuck
	for i := range calls {
		turns += fmt.Sprintf("  - calls: [{name: shell, args: {command: \"until [ -e go%d ]; do sleep 0.05; done\"}}]\n", i)
	}
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": handAgent, "turns.yaml": turns + "  - calls: [{name: finish, args: {summary: Made.}}]\n",
		"one.yaml": "turns:\n  - calls: [{name: finish, args: {summary: Made.}}]\n"})
	adroit := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(p.bin)
		cmd.Args = append([]string{"adroit"}, args...)
		cmd.Env, cmd.Dir = p.env, p.path("repo")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("adroit %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	serve := func() *server {
		return startServer(t, p.bin, p.env, p.path("repo"), "serve", "--listen", "127.0.0.1:0")
	}
	served := serve()
	f := follow(t, served.url, strings.TrimSpace(p.read("data/adroit.token")))
	id := regexp.MustCompile(`J[0-9A-Z]{12,}`).FindString(adroit("--server", served.url, "run", "--detach", "hand", "make it", "--approve", "all", "-m", "script:../turns.yaml"))
	for i := range calls {
		for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			f.mu.Lock()
			there := f.begun > i
			f.mu.Unlock()
			if there {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the job does not get to command %d:\n%s", i, adroit("jobs", "logs", id))
			}
		}
		if err := served.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = served.Wait()
		if i == 1 {
			adroit("run", "hand", "make one", "--approve", "all", "-m", "script:../one.yaml")
		}
		if err := os.WriteFile(p.path(fmt.Sprintf("repo/go%d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		served = serve()
		f.url.Store(served.url)
		if i == calls-1 {
			adroit("--server", served.url, "continue", id)
			break
		}
		adroit("--server", served.url, "continue", "--detach", id)
	}
	f.ended(t, strings.Count(adroit("jobs", "logs", id, "--json"), "\n")+strings.Count(adroit("jobs", "logs", "last", "--json"), "\n"))
}

// drawnSteps are steps of every kind, as lines of a pipeline.
var drawnSteps = []string{
	`{id: turn, agent: hand, input: "{{input}}"}`,  // a model turn, a tool, a question, and how it ends
	`{id: spawn, agent: lead, input: "{{input}}"}`, // a sub-agent
	`{id: run, run: "test -e tried || { touch tried; false; }", repeatable: true, retries: {attempts: 3, backoff: 20ms}}`, // a wait of some time
	`{id: check, check: {run: "grep -q a a.txt"}}`,
	`{id: await, await: {signal: verdict}}`,
	`{id: inner, pipeline: inner, input: "{{input}}"}`,
	`{id: parallel, parallel: [{id: left, tool: list_files}, {id: right, tool: list_files}]}`,
	`{id: work, agent: worker, input: "Write left.", worktree: true}`, // a workflow, in a worktree
}

var drawn = map[string]string{
	"home/.config/adroit/agents/hand.md":       handAgent,
	"home/.config/adroit/agents/lead.md":       "---\nname: lead\ndescription: Has another look.\ntools: [read_file]\nspawn: [leaf]\n---\nYou lead.\n",
	"home/.config/adroit/agents/leaf.md":       "---\nname: leaf\ndescription: Looks.\ntools: [read_file]\n---\nYou are a leaf.\n",
	"home/.config/adroit/pipelines/inner.yaml": "steps: [{id: list, tool: list_files}]\n",
	"repo/a.txt": "a\n",
	"turns.yaml": `scenes:
  - when: You do
    turns:
      - calls: [{name: write_file, args: {path: b.txt, content: "b\n"}}]
      - calls: [{name: shell, args: {command: "echo once >>log"}}]
      - calls: [{name: finish, args: {summary: Made.}}]
  - when: You lead
    turns:
      - calls: [{name: spawn_agent, args: {agent: leaf, task: Look.}}]
      - text: Seen.
  - when: You are a leaf
    turns:
      - calls: [{name: read_file, args: {path: a.txt}}]
      - text: It is an a.
` + workerScene,
}

// A server kills itself at a point of a job with steps of every kind, in an order that the seed draws,
// while three readers follow: the next server goes on, and they have every event once, in order. It does
// so at two or three of the points, which the seed chooses, at night at one of eight.
func TestServeKilledSteps(t *testing.T) {
	testenv.Long(t, "starts some hundred processes")
	t.Parallel()
	bin, seed := program(t), testenv.Seed(t)
	kinds := map[string]bool{} // of steps, in all jobs
	kill := func(n int) bool {
		file := "steps:\n"
		for _, i := range mathrand.New(mathrand.NewPCG(seed, uint64(n))).Perm(len(drawnSteps)) {
			file += "  - " + drawnSteps[i] + "\n"
		}
		files := maps.Clone(drawn)
		files["home/.config/adroit/pipelines/drawn.yaml"] = file
		p := newPlace(t, files)
		p.bin = bin
		p.env = append(p.env, "GIT_CONFIG_GLOBAL="+p.path("gitconfig"), "GIT_CONFIG_NOSYSTEM=1")
		p.git("init", "-q", "-b", "main")
		p.git("add", ".")
		p.git("-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "Begin")
		f, job, killed := p.servedTo(n)
		if n := strings.Count(p.read("repo/log"), "once"); n > 1 {
			t.Errorf("point %d: the command ran %d times", n, n)
		}
		_, log := p.run("jobs", "logs", job, "--json")
		for line := range strings.Lines(log) {
			var e struct{ Kind, Step string }
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			kinds[cmp.Or(e.Step, e.Kind)] = true
		}
		f.ended(t, strings.Count(log, "\n"))
		return killed
	}
	const each, few = 8, 400 // a step has some four points, and the job some 900
	n, step := int(seed%few)+1, few
	if testenv.Night() {
		n, step = int(seed%each)+1, each
	}
	for ; kill(n); n += step {
		t.Logf("killed at point %d", n)
	}
	for _, kind := range []string{"model", "tool", "await", "spawn", "resolve", "worktree", "return"} {
		if !kinds[kind] {
			t.Errorf("no job had a step of the kind %s: %v", kind, kinds)
		}
	}
	if n < 300 {
		t.Errorf("the job has ended before point %d; it cannot have been killed everywhere", n)
	}
}

// servedTo has a server that kills itself at point n, and where it does another one, lead the job drawn to its
// end, while readers follow.
func (p *place) servedTo(n int) (f *readers, job string, killed bool) {
	p.t.Helper()
	var served *server
	var gone chan struct{}
	serve := func(env ...string) {
		served, gone = startServer(p.t, p.bin, append(p.env[:len(p.env):len(p.env)], env...), p.path("repo"), "serve", "--listen", "127.0.0.1:0"), make(chan struct{})
		go func(s *server, gone chan struct{}) { _, _ = s.Process.Wait(); close(gone) }(served, gone)
	}
	serve(fmt.Sprintf("ADROIT_KILL_AT=%d", n))
	f = follow(p.t, served.url, strings.TrimSpace(p.read("data/adroit.token")))
	through := func(args ...string) { p.run(append([]string{"--server", served.url}, args...)...) } // it may be killed meanwhile
	begin := func() {
		through("run", "--detach", "drawn", "make it", "--approve", "edits", "--sandbox", "off", "-m", "script:../turns.yaml")
	}
	begin()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		select {
		case <-gone:
			killed = true
			serve()
			f.url.Store(served.url)
		default:
		}
		_, out := p.run("jobs", "show", "last", "--json")
		var d struct {
			ID, Status, Reason string
			Pending            struct{ Signals []string }
		}
		if err := json.Unmarshal([]byte(out), &d); err != nil { // killed before it was submitted
			begin()
			continue
		}
		switch {
		case d.Status == "done":
			return f, d.ID, killed
		case time.Now().After(deadline):
			_, log := p.run("jobs", "logs", "last")
			p.t.Fatalf("point %d: it is %s: %s\n%s\n%s", n, d.Status, d.Reason, p.read("home/.config/adroit/pipelines/drawn.yaml"), log)
		case d.Status == "waiting" && len(d.Pending.Signals) > 0: // a kill may come before the answer, and after it
			name, _, _ := strings.Cut(d.Pending.Signals[0], "@")
			through("answer", "signal", d.ID, name)
			through("continue", "--detach", d.ID)
		case d.Status != "running":
			through("continue", "--detach", d.ID)
		}
	}
}

// The description of the interface is valid for a validator that is not ours, and a client that a generator
// makes of it starts a job and follows it.
func TestServeOpenAPI(t *testing.T) {
	t.Parallel()
	dir := testenv.NeedsVariable(t, "OPENAPI", "install.sh openapi")
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": handAgent, "turns.yaml": "turns:\n  - calls: [{name: finish, args: {summary: Made.}}]\n"})
	served := startServer(t, p.bin, p.env, p.path("repo"), "serve", "--listen", "127.0.0.1:0")
	cmd := exec.Command("node", "client.mjs", served.url, strings.TrimSpace(p.read("data/adroit.token")), p.path("repo"), "script:"+p.path("turns.yaml"))
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	lines := strings.Fields(string(out))
	if err != nil || len(lines) < 5 || lines[1] != "job.started" || !strings.HasSuffix(string(out), "job.finished\n404 not_found\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := regexp.MustCompile(`(?m)^status +done$`).FindString(func() string { _, out := p.run("jobs", "show", lines[0]); return out }()); got == "" {
		t.Errorf("job %s is not done", lines[0])
	}
}
