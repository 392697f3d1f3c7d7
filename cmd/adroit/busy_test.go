package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/llm/llmtest"
)

// busy are answers of servers that serve nobody now.
var busy = map[string]struct {
	config string // of the endpoint lab, with the address in it
	answer llmtest.Behaviour
}{
	"llama.cpp loads": {"  lab: {base_url: %s/v1, dialect: llamacpp}\n", llmtest.Fail(503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`)},
	"vllm is full":    {"  lab: {base_url: %s/v1, dialect: vllm}\n", llmtest.Fail(503, `{"detail":"service unavailable"}`)},
	"openai limits":   {"  lab: {base_url: %s/v1, dialect: openai}\n", llmtest.Fail(429, `{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}`, "Retry-After", "1")},
	"anthropic":       {"  lab: {base_url: %s, dialect: anthropic}\n", llmtest.Fail(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)},
	"gemini limits":   {"  lab: {base_url: %s/v1, dialect: gemini}\n", llmtest.Fail(429, `[{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"0.9s"}]}}]`)},
}

// A busySite has an agent that asks lab/m, whose server is busy for some requests.
func busySite(t *testing.T, name, more string, times int) (*site, *llmtest.Server) {
	s, srv := newSite(t, "OLLAMA_HOST=127.0.0.1:9"), llmtest.New(t)
	for range times {
		srv.Add(busy[name].answer)
	}
	srv.Add(llmtest.Say(llmtest.Turn{Text: "Here is the poem."}))
	s.configure(t, more+"endpoints:\n"+fmt.Sprintf(busy[name].config, srv.URL))
	put(t, filepath.Join(s.home, ".config", "adroit", "agents", "poet.md"), "---\nname: poet\ndescription: Writes.\n---\nYou write.\n")
	return s, srv
}

// TestBusyServersAreWaitedFor has servers answer that they are busy more often than
// a failed request is repeated. The run waits, and reports it.
func TestBusyServersAreWaitedFor(t *testing.T) {
	t.Parallel()
	for name := range busy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := busySite(t, name, "", 5)
			out, err := s.adroit(t, t.TempDir(), "run", "poet", "a poem", "-m", "lab/m")
			if err != nil || !strings.Contains(out, "Here is the poem.") || !strings.Contains(out, "waiting for it, ") || !strings.Contains(out, " of at most 10m0s; asked again in ") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestRunNamesItsWindow: the first line of a run has the window that the server states, or the
// guess where it states none.
func TestRunNamesItsWindow(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{`,"max_model_len":5120`: "lab/m (window 5120)", `,"meta":{"n_ctx_train":6144}`: "lab/m (window 6144, a guess)", "": "lab/m (window 32768, a guess)"} {
		s, srv := busySite(t, "vllm is full", "model: lab/m\n", 0)
		front := listen(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"data":[{"id":"m"%s}]}`, entry)
				return
			}
			to, err := url.Parse(srv.URL)
			if err != nil {
				t.Error(err)
				return
			}
			httputil.NewSingleHostReverseProxy(to).ServeHTTP(w, r)
		})
		s.configure(t, "model: lab/m\nendpoints:\n  lab: {base_url: "+front.String()+"/v1}\n")
		out, err := s.adroit(t, t.TempDir(), "run", "poet", "a poem")
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%q is not in the first line: %v\n%s", want, err, out)
		}
		out, _ = s.adroit(t, t.TempDir(), "doctor")
		if n := strings.TrimSuffix(strings.TrimSuffix(strings.SplitN(want, " ", 3)[2], ")"), ", a guess"); !strings.Contains(out, "lab/m; window "+n) || strings.Contains(out, "a guess") != strings.Contains(want, "a guess") {
			t.Errorf("doctor does not name the window of %q:\n%s", want, out)
		}
	}
}

// TestRefusedWindowOutlivesTheJob: the next run begins with the window that a refusal named.
func TestRefusedWindowOutlivesTheJob(t *testing.T) {
	t.Parallel()
	s, _ := busySite(t, "vllm is full", "", 0)
	front := listen(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":{"message":"This model's maximum context length is 5120 tokens. Please reduce the length of the messages."}}`)
	})
	s.configure(t, "model: lab/m\nendpoints:\n  lab: {base_url: "+front.String()+"/v1}\n")
	for _, want := range []string{"lab/m (window 32768, a guess)", "lab/m (window 5120)"} {
		if out, err := s.adroit(t, t.TempDir(), "run", "poet", strings.Repeat("a long poem ", 3000)); err == nil || !strings.Contains(out, want) {
			t.Errorf("%q is not in the first line: %v\n%s", want, err, out)
		}
	}
	if out, _ := s.adroit(t, t.TempDir(), "doctor"); !strings.Contains(out, "window 5120, which a refusal named on 2") {
		t.Errorf("doctor does not name it:\n%s", out)
	}
	if out, err := s.adroit(t, t.TempDir(), "models", "forget", "lab/m"); err != nil || out != "forgot 1 entry\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestBusyServerIsNotWaitedForEver fails when limits.wait is over.
func TestBusyServerIsNotWaitedForEver(t *testing.T) {
	t.Parallel()
	s, _ := busySite(t, "llama.cpp loads", "limits: {wait: 1s}\n", 50)
	begin := time.Now()
	out, err := s.adroit(t, t.TempDir(), "run", "poet", "a poem", "-m", "lab/m")
	if err == nil || !strings.Contains(out, "Loading model (HTTP 503)") || !strings.Contains(out, "it was waited for, ") || time.Since(begin) > 5*time.Minute {
		t.Errorf("%v after %s\n%s", err, time.Since(begin), out)
	}
}

// TestBusyServerAndKill kills a run that waits, without warning and by the
// operator. Resumed, it waits again and ends.
func TestBusyServerAndKill(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"killed": nil, "cancelled": {"jobs", "cancel", "last"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, srv := busySite(t, "llama.cpp loads", "", 4)
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), s.bin, "run", "poet", "a poem", "-m", "lab/m")
			cmd.Env, cmd.Dir = s.env, dir
			out := new(lockedBuffer)
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for until := time.Now().Add(5 * time.Minute); len(srv.Requests()) < 3 && time.Now().Before(until); {
				time.Sleep(10 * time.Millisecond)
			}
			begin := time.Now()
			if args == nil {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				if got, err := s.adroit(t, dir, "continue", "last"); err != nil || !strings.Contains(got, "Here is the poem.") {
					t.Errorf("resumed: %v\n%s\nafter\n%s", err, got, out)
				}
				return
			}
			if got, err := s.adroit(t, dir, args...); err != nil || time.Since(begin) > 5*time.Minute {
				t.Errorf("%v after %s\n%s", err, time.Since(begin), got)
			}
			if code := ended(t, cmd.Wait()); code != 5 {
				t.Errorf("exit code %d, want 5\n%s", code, out)
			}
		})
	}
}

// A lockedBuffer may be read while it is written to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
