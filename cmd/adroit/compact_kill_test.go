package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/llm/llmtest"
)

const readAll = `---
name: reader
description: Reads.
tools: [read_file, finish]
done: {signal: DONE}
---
You read.
`

// A runner that is killed while a model writes the notes of a compaction
// leaves a job that asks for them again and goes on: no turn is lost or had
// twice.
func TestKilledWhileCompacting(t *testing.T) {
	t.Parallel()
	const turns = 16
	var asked, noted atomic.Int64
	begun, gone := make(chan struct{}), make(chan struct{})
	p := llmtest.NewProduct(t, "compatible", func(a llmtest.Asked) llmtest.Turn {
		if strings.Contains(string(a.Schema), `"asked"`) {
			if noted.Add(1) == 1 {
				close(begun)
				<-gone
			}
			return llmtest.Turn{Text: `{"asked":"to read","decided":[],"done":["read some of the files"],"plan":["read the others"],"avoid":[]}`}
		}
		n := asked.Add(1)
		if n > turns {
			return llmtest.Turn{Calls: []llm.Call{{ID: "end", Name: "finish", Args: json.RawMessage(`{"summary":"All read."}`)}}}
		}
		return llmtest.Turn{Text: strings.Repeat("I think about what I read. ", 30),
			Calls: []llm.Call{{ID: fmt.Sprintf("c%d", n), Name: "read_file", Args: fmt.Appendf(nil, `{"path":"f%d.txt"}`, n)}}}
	})
	at := newPlace(t, readerFiles(p.URL, turns))
	cmd, out := at.command("run", "reader", "read", "-m", "lab/m", "--calling", "native")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- cmd.Wait() }()
	select {
	case <-begun:
	case err := <-ran:
		t.Fatalf("it ended before it was compacted: %v\n%s", err, out)
	}
	before := asked.Load()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := ended(t, <-ran); got != -int(syscall.SIGKILL) {
		t.Fatalf("ended with %d", got)
	}
	close(gone)
	if _, list := at.run("jobs"); !strings.Contains(list, "interrupted ") {
		t.Errorf("jobs: %s", list)
	}
	code, text := at.run("continue", "last")
	if code != 0 || !strings.Contains(text, "summarised") {
		t.Fatalf("resume: exit code %d\n%s", code, text)
	}
	if asked.Load() != turns+1 || before >= turns || noted.Load() < 2 {
		t.Errorf("%d answers, %d before the kill, for %d turns; notes were asked for %d times", asked.Load(), before, turns+1, noted.Load())
	}
	last := p.Asked()[len(p.Asked())-1]
	if words := last.Text(); !strings.Contains(words, "<notes>") || !strings.Contains(words, "read some of the files") || !strings.Contains(words, fmt.Sprintf("this is file %d\n", turns)) {
		t.Errorf("the last request has no notes, or not the last result:\n%s", words)
	}
}

// readerFiles are an agent that reads so many files by a model with a small window.
func readerFiles(url string, turns int) map[string]string {
	files := map[string]string{"home/.config/adroit/agents/reader.md": readAll,
		"home/.config/adroit/config.yaml": fmt.Sprintf("endpoints:\n  lab: {base_url: %q}\nwindows:\n  lab/*: 6000\n", url+"/v1")}
	for n := range turns {
		files[fmt.Sprintf("repo/f%d.txt", n+1)] = fmt.Sprintf("this is file %d\n", n+1)
	}
	return files
}

// A message that redirects a run which was stopped behind a compaction leaves that as it
// is: no notes are paid for twice.
func TestRedirectKeepsCompaction(t *testing.T) {
	t.Parallel()
	for _, refused := range []bool{false, true} {
		t.Run(fmt.Sprint("refused ", refused), func(t *testing.T) { redirectKeepsCompaction(t, refused) })
	}
}

func redirectKeepsCompaction(t *testing.T, refused bool) {
	t.Parallel()
	const turns = 16
	var asked, noted atomic.Int64
	begun, gone := make(chan struct{}), make(chan struct{})
	p := llmtest.NewProduct(t, "compatible", func(a llmtest.Asked) llmtest.Turn {
		if strings.Contains(string(a.Schema), `"asked"`) {
			noted.Add(1)
			return llmtest.Turn{Text: `{"asked":"to read","decided":[],"done":["read some of the files"],"plan":["read the others"],"avoid":[]}`}
		}
		switch {
		case strings.Contains(a.Text(), "that is enough"):
			return llmtest.Turn{Calls: []llm.Call{{ID: "end", Name: "finish", Args: json.RawMessage(`{"summary":"Some read."}`)}}}
		case noted.Load() > 0:
			close(begun)
			<-gone
		}
		n := asked.Add(1)
		return llmtest.Turn{Text: strings.Repeat("I think about what I read. ", 30),
			Calls: []llm.Call{{ID: fmt.Sprintf("c%d", n), Name: "read_file", Args: fmt.Appendf(nil, `{"path":"f%d.txt"}`, 1+n%turns)}}}
	})
	to, err := url.Parse(p.URL)
	dirtest.Must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refused && asked.Load() == 5 && noted.Load() == 0 {
			asked.Add(1)
			http.Error(w, `{"error":{"message":"This model's maximum context length is 3000 tokens"}}`, http.StatusBadRequest)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	at := newPlace(t, readerFiles(front.URL, turns))
	cmd, out := at.command("run", "reader", "read", "-m", "lab/m", "--calling", "native")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- cmd.Wait() }()
	select {
	case <-begun:
	case err := <-ran:
		t.Fatalf("it ended before it was compacted: %v\n%s", err, out)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	ended(t, <-ran)
	close(gone)
	code, text := at.run("continue", "last", "that is enough")
	if code != 0 || noted.Load() != 1 {
		t.Errorf("continue: exit code %d, notes were asked for %d times\n%s", code, noted.Load(), text)
	}
	if last := p.Asked()[len(p.Asked())-1].Text(); !strings.Contains(last, "<notes>") || !strings.HasSuffix(strings.TrimSpace(last), "that is enough") {
		t.Errorf("the last request has no notes, or not the message at its end:\n%s", last)
	}
}
