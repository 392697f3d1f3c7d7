package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// An mcpServer is adroit mcp serve in a process of its own.
type mcpServer struct {
	*testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func serveMCP(t *testing.T, p *place) *mcpServer {
	t.Helper()
	s := &mcpServer{T: t, cmd: exec.Command(p.bin)}
	s.cmd.Args = []string{"adroit", "mcp", "serve", "--agent", "hand", "--approve", "all", "-m", "script:" + p.path("turns.yaml")}
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = p.env, p.path("repo"), os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = s.cmd.Process.Kill() // it may have ended
		_ = s.cmd.Wait()
	})
	s.in, s.out = in, bufio.NewReader(out)
	s.send(`"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`)
	s.until(`"id":1`)
	return s
}

func (s *mcpServer) send(body string) {
	s.Helper()
	if _, err := fmt.Fprintf(s.in, "{\"jsonrpc\":\"2.0\",%s}\n", body); err != nil {
		s.Fatal(err)
	}
}

func (s *mcpServer) call(id int, tool, args string) {
	s.Helper()
	s.send(fmt.Sprintf(`"id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s,"_meta":{"progressToken":"p"}}`, id, tool, args))
}

// until returns the first line that has a text.
func (s *mcpServer) until(text string) string {
	s.Helper()
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.Fatalf("no line has %s: %v", text, err)
		}
		if strings.Contains(line, text) {
			return line
		}
	}
}

// However the server ends in the middle of a job, by kill -9, by a signal or because
// its client goes away, the next server shows the job and goes on with it.
func TestMCPServeKilled(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*mcpServer) error{
		"kill":      func(s *mcpServer) error { return s.cmd.Process.Kill() },
		"terminate": func(s *mcpServer) error { return s.cmd.Process.Signal(syscall.SIGTERM) },
		"hang up":   func(s *mcpServer) error { return s.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": handAgent, "turns.yaml": `turns:
  - calls: [{name: shell, args: {command: "echo once >>log"}}]
  - calls: [{name: shell, args: {command: "sleep 600"}}]
  - calls: [{name: finish, args: {summary: Made.}}]
`})
			s := serveMCP(t, p)
			s.call(2, "hand", `{"prompt": "make it"}`)
			s.until("shell: ")    // the first has ended
			s.until("tool shell") // the second runs
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			err := s.cmd.Wait()
			if name == "hang up" && err != nil {
				t.Errorf("the server: %v", err)
			}

			s = serveMCP(t, p)
			s.call(3, "job_list", `{"status": ["interrupted", "running"]}`)
			list := s.until(`"id":3`)
			id := regexp.MustCompile(`J[0-9A-Z]{12,}`).FindString(list)
			if id == "" {
				t.Fatalf("the next server has no job: %s", list)
			}
			s.call(4, "job_resume", fmt.Sprintf(`{"job": %q}`, id))
			if end := s.until(`"id":4`); !strings.Contains(end, `"status":"done"`) || !strings.Contains(end, id) {
				t.Errorf("resumed: %s", end)
			}
			if got := p.read("repo/log"); got != "once\n" {
				t.Errorf("log holds %q", got)
			}
		})
	}
}

const handAgent = "---\nname: hand\ndescription: Follows instructions.\ntools: [write_file, shell, finish]\ndone: {signal: DONE}\n---\nYou do.\n"

// Over HTTP the command prints its address, serves who sends the token of the data
// directory, and ends by a signal.
func TestMCPServeHTTP(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/hand.md": handAgent})
	cmd := exec.Command(p.bin)
	cmd.Args = []string{"adroit", "mcp", "serve", "--agent", "hand", "--http", "127.0.0.1:0"}
	cmd.Env, cmd.Dir = p.env, p.path("repo")
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	address := ""
	lines := bufio.NewScanner(errs)
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "listening on ")
	}
	token := strings.TrimSpace(p.read("data/adroit.token"))
	for given, want := range map[string]int{token: http.StatusOK, "": http.StatusUnauthorized} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+given)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != want || want == http.StatusOK && !strings.Contains(string(body), `"name":"adroit"`) {
			t.Errorf("with the token %q: %s, %v\n%s", given, resp.Status, err, body)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until it ends
	}
	if err := errors.Join(lines.Err(), cmd.Wait()); err != nil {
		t.Errorf("the server: %v", err)
	}
}
