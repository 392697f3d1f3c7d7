// Package ollamatest runs a real Ollama server for a test, with models whose output the test
// chooses (see internal/dev/e2e/tinymodel).
//
//	url := ollamatest.Start(t)
//	ollamatest.CreateModel(t, url, "greeter", []tinymodel.Turn{{Say: "Hello."}})
//
// The server comes from the environment: OLLAMA_BIN names the program, which
// internal/dev/e2e/ollama/build.sh builds. Without it the test is skipped.
package ollamatest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// Context is the window that the models were made for, in tokens.
const Context = 16384

// A Server is a running server for a test.
type Server struct {
	URL   string
	Store string // the directory of its models
	pid   int
}

// Start runs a server on a free loopback port with a store of its own and
// returns its URL. The server and its runners are gone when the test ends.
func Start(t testing.TB) string { return Run(t).URL }

// Run is like [Start], with additions to the server's environment.
func Run(t testing.TB, env ...string) *Server {
	t.Helper()
	bin := testenv.NeedsVariable(t, "OLLAMA_BIN", "ollama/build.sh")
	dir := t.TempDir()
	log, err := os.Create(filepath.Join(dir, "serve.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(bin, "serve")
	// On a machine without vector instructions flash attention in half precision takes
	// twice the time of the ordinary one.
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "OLLAMA_HOST=127.0.0.1:0",
		"OLLAMA_MODELS=" + filepath.Join(dir, "models"), "OLLAMA_NO_CLOUD=1", "OLLAMA_KEEP_ALIVE=1m", "OLLAMA_FLASH_ATTENTION=false", "GIN_MODE=release"}
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = log, log
	// A group of its own: if the server is killed, its runners stay behind.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }() // ends with the process, which Cleanup sees to
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
		}
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if t.Failed() {
			b, _ := os.ReadFile(log.Name())
			t.Logf("the server's log:\n%s", b[max(0, len(b)-20_000):])
		}
	})
	for deadline := time.Now().Add(5 * time.Minute); ; {
		b, err := os.ReadFile(log.Name())
		if m := listening.FindSubmatch(b); m != nil {
			return &Server{URL: "http://" + string(m[1]), Store: filepath.Join(dir, "models"), pid: cmd.Process.Pid}
		}
		select {
		case err := <-gone:
			gone <- err
			t.Fatalf("the server ended at once: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not listen: %v", err)
		}
	}
}

// listening matches the server's log when it listens. A port chosen in advance might be taken by
// another program first.
var listening = lazyregexp.New(`"Listening on (127\.0\.0\.1:\d+) `)

// KillRunners kills the processes that hold the server's models, as the
// system does when memory runs out, and reports how many there were.
func (s *Server) KillRunners() int {
	n := 0
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, stat := range stats {
		b, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		// The name, in brackets, may hold anything.
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(s.pid) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// CreateModel makes a model on the server at url that plays turns.
func CreateModel(t testing.TB, url, name string, turns []tinymodel.Turn) {
	t.Helper()
	template, err := tinymodel.Template(turns)
	if err != nil {
		t.Fatal(err)
	}
	Create(t, url, name, tinymodel.Tape(Context), template)
}

// Create makes a model of a GGUF file and a chat template.
func Create(t testing.TB, url, name string, file []byte, template string) {
	t.Helper()
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(file))
	if _, err := call(t.Context(), http.MethodPost, url+"/api/blobs/"+digest, file); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{
		"model":    name,
		"stream":   false,
		"files":    map[string]string{"model.gguf": digest},
		"template": template,
		// More threads than idle cores spin for half a second a token.
		"parameters": map[string]any{"num_thread": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call(t.Context(), http.MethodPost, url+"/api/create", body); err != nil {
		t.Fatal(err)
	}
}

func call(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode/100 != 2 || strings.Contains(string(b), `"error"`)) {
		err = fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, b)
	}
	return b, err
}
