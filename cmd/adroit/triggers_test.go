package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const triggersConfig = `
model: script:TURNS
triggers:
  hook: {webhook: {scheme: github, secret_env: HOOK_SECRET}, when: {action: [opened]}, run: assistant, dir: REPO, prompt: "look at {{title}}", overlap: true}
  std: {webhook: {scheme: standard, secret_env: HOOK_SECRET}, run: assistant, dir: REPO, prompt: "look"}
  files: {files: ["*.txt"], quiet: 1s, run: hand, dir: REPO, prompt: "changed {{files}}", approve: all, model: "script:WRITES"}
  after: {job: {agent: hand, depth: 2}, run: hand, dir: REPO, prompt: again}
  second: {cron: "* * * * * *", when: {trigger: [nobody]}, run: assistant, dir: REPO}
notices:
  me: {of: [done], url: "RECEIVER/notice", secret_env: NOTICE_SECRET}
`

// A placeJob is a job as adroit jobs list --json has it.
type placeJob struct{ ID, Key, Status, Title string }

func jobsWith(t *testing.T, bin string, env []string, prefix string) (out []placeJob) {
	t.Helper()
	cmd := exec.Command(bin)
	cmd.Args, cmd.Env = []string{"adroit", "jobs", "list", "--all", "--json", "--limit", "0"}, env
	b, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(b)); ; {
		var v json.RawMessage
		if err := dec.Decode(&v); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		var list []placeJob
		if json.Unmarshal(v, &list) != nil {
			var one placeJob
			if err := json.Unmarshal(v, &one); err != nil {
				t.Fatal(err)
			}
			list = []placeJob{one}
		}
		for _, j := range list {
			if strings.HasPrefix(j.Key, prefix) {
				out = append(out, j)
			}
		}
	}
}

// until waits for something that is to come.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !is(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come: " + what)
		}
	}
}

func signed(secret, text string) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(text))
	return h.Sum(nil)
}

// A signed request starts one job, however often it comes and whenever the server is killed; a forged
// one starts none, and is answered as one with a name that there is not.
func TestTriggers(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	notices := map[string]int{} // by job
	forged := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body) // what is missing is not signed
		content := r.Header.Get("webhook-id") + "." + r.Header.Get("webhook-timestamp") + "." + string(b)
		var got struct {
			Data struct {
				Jobs []struct{ Job, Of string }
			}
		}
		err := json.Unmarshal(b, &got)
		mu.Lock()
		defer mu.Unlock()
		if err != nil || r.Header.Get("webhook-signature") != "v1,"+base64.StdEncoding.EncodeToString(signed("notice secret", content)) {
			forged++
			return
		}
		for _, j := range got.Data.Jobs {
			notices[j.Job]++
		}
	}))
	defer receiver.Close()
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": handAgent, "turns.yaml": "turns:\n  - text: Seen.\n",
		"writes.yaml": "turns:\n  - calls: [{name: write_file, args: {path: made.txt, content: x}}]\n  - calls: [{name: finish, args: {summary: Made.}}]\n"})
	conf := strings.NewReplacer("TURNS", p.path("turns.yaml"), "WRITES", p.path("writes.yaml"), "REPO", p.path("repo"), "RECEIVER", receiver.URL).Replace(triggersConfig)
	if err := os.WriteFile(filepath.Join(p.path("home"), ".config/adroit/config.yaml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(p.env, "HOOK_SECRET=sesame", "NOTICE_SECRET=notice secret")
	serve := func() *server {
		return startServer(t, p.bin, env, p.path("repo"), "serve", "--listen", "127.0.0.1:0")
	}
	s := serve()
	post := func(name, body string, header map[string]string) (code int, answer string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, s.url+"/hooks/"+name, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "hooks.example.com" // as behind a tunnel
		for k, v := range header {
			req.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(b)
	}
	github := func(secret, body string) map[string]string {
		return map[string]string{"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(signed(secret, body))}
	}
	standard := func(id string, at time.Time, body string) map[string]string {
		unix := strconv.FormatInt(at.Unix(), 10)
		return map[string]string{"webhook-id": id, "webhook-timestamp": unix, "webhook-signature": "v1," + base64.StdEncoding.EncodeToString(signed("sesame", id+"."+unix+"."+body))}
	}
	expect := func(want int, name, body string, header map[string]string) string {
		t.Helper()
		code, answer := post(name, body, header)
		if code != want {
			t.Errorf("%s %.80s: %d, want %d: %s", name, body, code, want, answer)
		}
		return answer
	}
	until(t, "the engine", func() bool { code, _ := post("std", `{}`, standard("msg_first", time.Now(), `{}`)); return code != 503 })

	wrong := expect(401, "hook", `{}`, github("wrong", `{}`))
	if none := expect(401, "nosuch", `{}`, github("sesame", `{}`)); none != wrong {
		t.Errorf("a name that there is not is answered %q, a wrong signature %q", none, wrong)
	}
	if cron := expect(401, "second", `{}`, github("", `{}`)); cron != wrong {
		t.Errorf("a trigger of another kind is answered %q", cron)
	}
	expect(401, "hook", `{}`, nil)
	expect(401, "std", `{}`, standard("msg_old", time.Now().Add(-10*time.Minute), `{}`))
	expect(400, "hook", `no`, github("sesame", `no`))
	expect(200, "hook", `{"action":"closed"}`, github("sesame", `{"action":"closed"}`))
	expect(422, "hook", `{"action":"opened"}`, github("sesame", `{"action":"opened"}`))
	large := `"` + strings.Repeat("x", 5<<20) + `"`
	if code, _ := post("hook", large, github("sesame", large)); code != 413 {
		t.Errorf("a large body: %d", code)
	}
	expect(409, "std", `{}`, standard("msg_first", time.Now(), `{}`))

	// Killed as soon as it has answered, again and again.
	const rounds = 4
	for i := range rounds {
		body := fmt.Sprintf(`{"action":"opened","title":"number %d"}`, i)
		until(t, "the engine", func() bool { code, _ := post("hook", body, github("sesame", body)); return code != 503 })
		if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.Wait() // it was killed
		s = serve()
		until(t, "the engine", func() bool {
			code, _ := post("hook", body, github("sesame", body))
			if code != 503 && code != 409 {
				t.Errorf("a replay after a restart: %d", code)
			}
			return code != 503
		})
	}
	ended := func(prefix string, want int) {
		t.Helper()
		until(t, fmt.Sprint(want, " jobs with the key ", prefix), func() bool {
			all, n := jobsWith(t, p.bin, env, prefix), 0
			for _, j := range all {
				if j.Status == "answered" || j.Status == "done" {
					n++
				}
			}
			if len(all) > want {
				t.Fatalf("%d jobs with the key %s: %v", len(all), prefix, all)
			}
			return n == want
		})
	}
	ended("trigger/hook/0/", rounds)
	ended("trigger/std/0/", 1)

	// Somebody's change starts a job, the job's own does not; its end starts one more, and no third.
	time.Sleep(2 * time.Second) // until it has looked at the files for the first time
	if err := os.WriteFile(p.path("repo/new.txt"), []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	ended("trigger/files/", 1)
	until(t, "the file", func() bool { _, err := os.Stat(p.path("repo/made.txt")); return err == nil })
	until(t, "the job after", func() bool { return len(jobsWith(t, p.bin, env, "trigger/after/")) > 0 })
	until(t, "the notices", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(notices) >= rounds+1
	})
	time.Sleep(5 * time.Second) // nothing more is to come
	for prefix, want := range map[string]int{"trigger/files/": 1, "trigger/after/": 1, "trigger/second/": 0} {
		if got := len(jobsWith(t, p.bin, env, prefix)); got != want {
			t.Errorf("%d jobs with the key %s, want %d", got, prefix, want)
		}
	}
	mu.Lock()
	if forged > 0 {
		t.Errorf("%d notices are not signed as Standard Webhooks has it", forged)
	}
	mu.Unlock()
	if err := s.stop(); err != nil {
		t.Errorf("the server: %v", err)
	}
}

const outlivedConfig = `
model: script:TURNS
triggers:
  hook: {webhook: {scheme: github, secret_env: HOOK_SECRET}, run: assistant, dir: REPO, prompt: "look at {{title}}", overlap: true}
  daily: {cron: CRON, time_zone: UTC, catch_up: 2, run: assistant, dir: REPO, prompt: "look at {{time}}"}
notices:
  me: {of: [done], url: "RECEIVER/notice", secret_env: NOTICE_SECRET}
`

// A second server of the data directory takes the triggers over when the first is killed: the job
// that ran goes on, each notice that was not taken comes with the id that it had, and after an
// outage as many missed times are made up for as the trigger allows, once.
func TestTriggersOutlive(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	takes := false
	ids, refused := map[string]string{}, map[string]bool{} // of messages, by job; ids that were refused
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got struct {
			Data struct{ Jobs []struct{ Job string } }
		}
		err := json.NewDecoder(r.Body).Decode(&got)
		mu.Lock()
		defer mu.Unlock()
		id := r.Header.Get("webhook-id")
		if err != nil || !takes {
			refused[id] = true
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		for _, j := range got.Data.Jobs {
			if before := ids[j.Job]; before != "" && before != id {
				t.Errorf("%s is in the messages %s and %s", j.Job, before, id)
			}
			ids[j.Job] = id
		}
	}))
	defer receiver.Close()
	const answers, hangs = "turns:\n  - text: Seen.\n", "turns:\n  - {text: Seen., delay: 1h}\n"
	p := newPlace(t, map[string]string{"turns.yaml": answers})
	env := append(p.env, "HOOK_SECRET=sesame", "NOTICE_SECRET=notice secret")
	half := time.Now().UTC().Add(12 * time.Hour) // none is due while this runs
	put(t, p.path("home/.config/adroit/config.yaml"), strings.NewReplacer("TURNS", p.path("turns.yaml"), "REPO", p.path("repo"), "RECEIVER", receiver.URL,
		"CRON", fmt.Sprintf(`"%d %d * * *"`, half.Minute(), half.Hour())).Replace(outlivedConfig))
	serve := func() *server {
		return startServer(t, p.bin, env, p.path("repo"), "serve", "--listen", "127.0.0.1:0")
	}
	post := func(s *server, title string) int {
		t.Helper()
		body := fmt.Sprintf(`{"title":%q}`, title)
		req, err := http.NewRequest(http.MethodPost, s.url+"/hooks/hook", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(signed("sesame", body)))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	count := func(prefix, status string) (n int) {
		t.Helper()
		for _, j := range jobsWith(t, p.bin, env, prefix) {
			if status == "" || j.Status == status || status == "done" && j.Status == "answered" {
				n++
			}
		}
		return n
	}

	first := serve()
	until(t, "the engine", func() bool { return post(first, "one") == 202 })
	until(t, "the first job's end", func() bool { return count("trigger/hook/", "done") == 1 })
	until(t, "a notice that is refused", func() bool { mu.Lock(); defer mu.Unlock(); return len(refused) > 0 })
	put(t, p.path("turns.yaml"), hangs)
	if code := post(first, "two"); code != 202 {
		t.Fatalf("the second request: %d", code)
	}
	until(t, "a job that runs", func() bool { return count("trigger/hook/", "running") == 1 })
	second := serve()
	for range 3 {
		if code := post(second, "three"); code != 503 {
			t.Errorf("while another server heeds the triggers: %d", code)
		}
	}
	put(t, p.path("turns.yaml"), answers)
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // killed
	mu.Lock()
	takes = true
	mu.Unlock()
	until(t, "the second server", func() bool { return post(second, "three") == 202 })
	until(t, "the job that was interrupted, and the third", func() bool { return count("trigger/hook/", "done") == 3 })
	if err := second.stop(); err != nil {
		t.Errorf("the second server: %v", err)
	}

	// As if no server had run for five days.
	var state map[string]any
	if err := json.Unmarshal([]byte(p.read("data/triggers.json")), &state); err != nil {
		t.Fatal(err)
	}
	state["triggers"].(map[string]any)["daily"].(map[string]any)["last"] = time.Now().Add(-5 * 24 * time.Hour).Format(time.RFC3339)
	raw, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	put(t, p.path("data/triggers.json"), string(raw))
	third := serve()
	until(t, "the times that were missed", func() bool { return count("trigger/daily/", "done") == 2 })
	until(t, "all notices", func() bool { mu.Lock(); defer mu.Unlock(); return len(ids) == 5 })
	mu.Lock()
	for id := range refused {
		found := false
		for _, other := range ids {
			found = found || id == other
		}
		if !found {
			t.Errorf("the message %s, which was refused, has not come again: %v", id, ids)
		}
	}
	mu.Unlock()
	if err := third.stop(); err != nil {
		t.Errorf("the third server: %v", err)
	}
	last := serve()
	until(t, "the engine", func() bool { return post(last, "four") == 202 })
	until(t, "the last job", func() bool { return count("trigger/hook/", "done") == 4 })
	if hook, daily := count("trigger/hook/", ""), count("trigger/daily/", ""); hook != 4 || daily != 2 {
		t.Errorf("%d jobs of requests and %d of times, want 4 and 2", hook, daily)
	}
}
