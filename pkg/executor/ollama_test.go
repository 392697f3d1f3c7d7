package executor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/e2e/ollamatest"
	"github.com/adroit-run/adroit/internal/dev/e2e/tinymodel"
	"github.com/adroit-run/adroit/internal/host"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A figure is the server's report about one chat.
type figure struct {
	Count  int           `json:"prompt_eval_count"`
	Took   time.Duration `json:"prompt_eval_duration"`
	status int
}

// listen stands between a client and the server and notes the figures.
func listen(t *testing.T, server string) (url string, figures func() []figure) {
	var mu sync.Mutex
	var all []figure
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		req, err := http.NewRequestWithContext(r.Context(), r.Method, server+r.URL.Path, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		req.Header = r.Header
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body) // a broken answer is passed on as it is
		if r.URL.Path == "/api/chat" && !bytes.Contains(body, []byte(`"messages":[]`)) {
			f := figure{status: resp.StatusCode}
			for line := range bytes.Lines(b) {
				if bytes.Contains(line, []byte(`"done":true`)) {
					if err := json.Unmarshal(line, &f); err != nil {
						t.Error(err)
					}
				}
			}
			mu.Lock()
			all = append(all, f)
			mu.Unlock()
		}
		w.WriteHeader(resp.StatusCode)
		w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []figure {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// pages is a tool whose results have so many bytes.
func pages(t *testing.T, size int) *tools.Set {
	set, err := tools.NewSet(tools.New(tools.Metadata{Name: "read", Description: "Read.", Needs: tools.Read, Paths: []string{"path"}},
		func(_ context.Context, _ *tools.Env, in struct {
			Path string `json:"path" jsonschema:"description=File."`
			Turn int    `json:"turn" jsonschema:"description=Turn."`
		}) (string, error) {
			line := fmt.Sprintf("%s in turn %d\n", in.Path, in.Turn)
			return strings.Repeat(line, size/len(line)), nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// slots reads from the server's log how many tokens of a prompt, by its size,
// were cached.
func slots(t *testing.T, log string) map[int]int {
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]int{}
	for _, m := range slotLine.FindAllSubmatch(b, -1) {
		prompt, _ := strconv.Atoi(string(m[1])) // digits
		out[prompt], _ = strconv.Atoi(string(m[2]))
	}
	return out
}

var slotLine = regexp.MustCompile(`loading cache slot.* prompt=(\d+) used=(\d+)`)

func reads(path string, turn int) string {
	return fmt.Sprintf(`<tool_call>{"name": "read", "arguments": {"path": %q, "turn": %d}}</tool_call>`, path, turn)
}

// TestRealOllama runs jobs that do not fit their window on the real server.
func TestRealOllama(t *testing.T) {
	server := ollamatest.Run(t, "OLLAMA_DEBUG=1")
	run := func(t *testing.T, name string, window, size int, turns []tinymodel.Turn) (*executor.State, []figure, []string) {
		t.Helper()
		ollamatest.CreateModel(t, server.URL, name, turns)
		url, figures := listen(t, server.URL)
		model, err := ollama.New(ollama.Config{BaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		set, j, env := pages(t, size), new(flow.Memory), newWorld(t, say("x")).env
		mux := host.Serve(host.Host{Models: func(context.Context, string) (llm.Model, string, error) { return model, name, nil },
			Tools: set, Blobs: j, Env: func(context.Context, string, string) (*tools.Env, error) { return env, nil }})
		task := executor.Task{Instructions: executor.Instructions{Model: "ollama/" + name, System: "You read.", Prompt: "the task is to read"}, Work: executor.Work{Tools: agents.PinTools(set)},
			Options: llm.Options{Window: window, MaxTokens: 512}}
		task.Budget = &turn.Budget{}
		in, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		var mu sync.Mutex
		out, err := loop.Run(flow.NewRun("J1", flow.NewLocal(t.Context(), j, mux, func(ev event.Event) {
			if ev.Kind == event.StepFinished && ev.Step == "compact" && ev.Text != "" {
				mu.Lock()
				said = append(said, ev.Text)
				mu.Unlock()
			}
		})), in)
		var s executor.State
		if uerr := json.Unmarshal(out, &s); err != nil || uerr != nil {
			t.Fatal(err, uerr, said, figures(), s.Context)
		}
		return &s, figures(), said
	}

	t.Run("refused, compacted, done", func(t *testing.T) {
		// Three results at once, before the server's count has taught us that
		// this model has a token for each byte.
		s, got, said := run(t, "bursts", 6144, 2400, []tinymodel.Turn{
			{Say: reads("a", 1) + reads("b", 1) + reads("c", 1)}, {Say: "All read."}})
		refused := 0
		for _, f := range got {
			if f.status == http.StatusBadRequest {
				refused++
			} else if f.Count > 6144-512 {
				t.Errorf("a prompt of %d tokens was let through", f.Count)
			}
		}
		t.Log(said)
		if refused != 1 || s.Context.Compactions != 1 || s.Last != "All read." {
			t.Errorf("refused %d times, %+v, %q", refused, s.Context, s.Last)
		}
	})

	t.Run("cache", func(t *testing.T) {
		var turns []tinymodel.Turn
		for i := range 10 {
			turns = append(turns, tinymodel.Turn{Say: reads("a", i)})
		}
		s, got, said := run(t, "steady", 9000, 1300, append(turns, tinymodel.Turn{Say: "All read."}))
		t.Log(said)
		if s.Context.Compactions == 0 || s.Last != "All read." || s.Turns != 11 {
			t.Fatalf("%+v, %q in %d turns", s.Context, s.Last, s.Turns)
		}
		// The server says how much of each prompt it had. A prompt that only
		// grew costs what is new in it; the first after a compaction, which is
		// shorter than the one before, what is behind the first changed result.
		slots := slots(t, filepath.Join(filepath.Dir(server.Store), "serve.log"))
		for i := 1; i < len(got); i++ {
			used, ok := slots[got[i].Count]
			if !ok {
				continue // the server does not say it any more
			}
			grew := got[i].Count > got[i-1].Count
			t.Logf("prompt of %d tokens, %d of them cached: %s", got[i].Count, used, got[i].Took)
			if grew && used < got[i-1].Count-tinymodel.Period-16 {
				t.Errorf("of a prompt that grew from %d tokens only %d were cached", got[i-1].Count, used)
			}
		}
		if len(slots) == 0 {
			t.Skip("this server does not log its cache")
		}
	})
}
