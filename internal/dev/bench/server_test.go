package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// serverEnv makes the test binary the model's server, so that its work is not
// counted as the client's.
const serverEnv = "ADROIT_BENCH_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	server.stop()
	os.Exit(code)
}

// serve answers chat requests until stdin ends.
func serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	hs := &http.Server{Handler: http.HandlerFunc(answer)}
	go func() { // ends with the process, which ends with its parent
		io.Copy(io.Discard, os.Stdin)
		hs.Close()
	}()
	fmt.Printf("http://%s\n", l.Addr())
	if err := hs.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// answer plays a tape: as many calls of echo as the model's name states, then a last message. The
// position follows from the conversation alone.
func answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var turns int
	if _, after, ok := bytes.Cut(body, []byte(`"model":"tape-`)); !ok {
		http.Error(w, "no tape", http.StatusBadRequest)
		return
	} else if _, err := fmt.Sscanf(string(after), "%d", &turns); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n := bytes.Count(body, []byte(`"role":"assistant"`))
	message, finish := fmt.Sprintf(`"content":"","tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":"echo","arguments":"{\"text\":\"turn %d\"}"}}]`, n, n), "tool_calls"
	if n >= turns || !bytes.Contains(body, []byte(`"tools":[`)) {
		message, finish = fmt.Sprintf(`"content":"all of %d"`, n), "stop"
	}
	const usage = `"usage":{"prompt_tokens":100,"completion_tokens":10}`
	if bytes.Contains(body[max(0, len(body)-8<<10):], []byte(`"stream":true`)) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"model\":\"tape\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",%s}}]}\n\n", message)
		fmt.Fprintf(w, "data: {\"model\":\"tape\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}],%s}\n\ndata: [DONE]\n\n", finish, usage)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"model":"tape","choices":[{"index":0,"message":{"role":"assistant",%s},"finish_reason":%q}],%s}`, message, finish, usage)
}

// server is the only server process of this test binary.
var server child

type child struct {
	once  sync.Once
	cmd   *exec.Cmd
	stdin io.Closer
	url   string
	err   error
}

func (c *child) start() {
	c.cmd = exec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), serverEnv+"=1")
	c.cmd.Stderr = os.Stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		c.err = err
		return
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		c.err = err
		return
	}
	if c.err = c.cmd.Start(); c.err != nil {
		return
	}
	c.stdin = stdin
	line, err := bufio.NewReader(out).ReadString('\n')
	c.url, c.err = strings.TrimSpace(line), err
}

func (c *child) stop() {
	if c.stdin != nil {
		c.stdin.Close()
		c.cmd.Wait()
	}
}

func url(t testing.TB) string {
	server.once.Do(server.start)
	if server.err != nil {
		t.Fatal(server.err)
	}
	return server.url
}

// client keeps a connection for each of many agents.
func client(t testing.TB) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 2000}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}
