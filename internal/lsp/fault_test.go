package lsp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/lsp"
	"github.com/adroit-run/adroit/pkg/tools"
)

// TestMain lets the test binary be a language server that misbehaves: the first argument names its
// FAULT.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-fault" {
		misbehave(os.Args[2], os.Args[3])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// misbehave serves until its input ends. It notes each start in the file log.
// A line of an open document that has BAD in it is a problem.
func misbehave(fault, log string) {
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		os.Exit(3)
	}
	fmt.Fprintln(f, "start")
	f.Close()
	b, _ := os.ReadFile(log)
	starts := strings.Count(string(b), "start\n")

	if fault == "mute" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	if fault == "deaf" {
		time.Sleep(time.Hour) // reads nothing, until it is killed; select {} would be a deadlock to a program without cgo
	}
	in := bufio.NewReader(os.Stdin)
	for {
		var msg struct {
			ID     *int
			Method string
			Params struct {
				TextDocument struct {
					URI, Text string
					Version   int
				}
				ContentChanges []struct{ Text string }
			}
		}
		if receive(in, &msg) != nil {
			return
		}
		d := msg.Params.TextDocument
		switch msg.Method {
		case "initialize":
			caps := map[string]any{"textDocumentSync": 1, "documentSymbolProvider": true, "definitionProvider": true}
			if fault == "pull" {
				caps["diagnosticProvider"] = map[string]any{}
			}
			send(map[string]any{"id": *msg.ID, "result": map[string]any{"capabilities": caps}})
			if fault == "flood" {
				go func() {
					for i := 0; ; i++ {
						send(map[string]any{"method": "textDocument/publishDiagnostics", "params": map[string]any{
							"uri": fmt.Sprintf("file:///flood/%d", i%20000), "diagnostics": []any{}}})
					}
				}()
			}
			if fault == "pester" {
				go func() {
					for i := 0; ; i++ {
						send(map[string]any{"id": fmt.Sprint("q", i), "method": "workspace/configuration", "params": map[string]any{"items": []any{1, 2}}})
					}
				}()
			}
		case "textDocument/didOpen", "textDocument/didChange":
			text := d.Text
			if len(msg.Params.ContentChanges) > 0 {
				text = msg.Params.ContentChanges[0].Text
			}
			switch {
			case fault == "silent":
				continue
			case fault == "dies" || fault == "dies once" && starts == 1:
				fmt.Fprintln(os.Stderr, "panic: out of luck")
				os.Exit(7)
			case fault == "garbage":
				fmt.Print("Content-Length: 12\r\n\r\nnot json at all, and on it goes\r\n\r\n")
				continue
			case fault == "headers":
				fmt.Print(strings.Repeat("x", 1<<20))
				continue
			case fault == "huge":
				fmt.Printf("Content-Length: %d\r\n\r\n{", int64(1)<<40)
				continue
			case fault == "stale":
				publish(d.URI, d.Version-1, "BAD from the past\n")
			}
			publish(d.URI, d.Version, text)
		case "textDocument/documentSymbol":
			if fault == "large" {
				var syms []any
				for i := range 20000 {
					syms = append(syms, map[string]any{"name": fmt.Sprint("symbol", i, strings.Repeat("x", 100)), "kind": 12,
						"range": at(i), "selectionRange": at(i)})
				}
				send(map[string]any{"id": *msg.ID, "result": syms})
				continue
			}
			send(map[string]any{"id": *msg.ID, "result": nil})
		case "textDocument/definition":
			send(map[string]any{"id": *msg.ID, "result": "nonsense"})
		case "textDocument/diagnostic":
			send(map[string]any{"id": *msg.ID, "error": map[string]any{"code": -32603, "message": "it hurts"}})
		default:
			if msg.ID != nil && msg.Method != "" {
				send(map[string]any{"id": *msg.ID, "result": nil})
			}
		}
	}
}

func at(line int) map[string]any {
	return map[string]any{"start": map[string]int{"line": line, "character": 0}, "end": map[string]int{"line": line, "character": 1}}
}

func publish(uri string, version int, text string) {
	problems := []any{}
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "BAD") {
			problems = append(problems, map[string]any{"range": at(i), "severity": 1, "message": line})
		}
	}
	send(map[string]any{"method": "textDocument/publishDiagnostics", "params": map[string]any{"uri": uri, "version": version, "diagnostics": problems}})
}

var sending = make(chan struct{}, 1)

func send(v map[string]any) {
	sending <- struct{}{}
	defer func() { <-sending }()
	v["jsonrpc"] = "2.0"
	b, _ := json.Marshal(v)
	if _, err := fmt.Printf("Content-Length: %d\r\n\r\n%s", len(b), b); err != nil {
		os.Exit(0)
	}
}

func receive(in *bufio.Reader, v any) error {
	size := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			size, _ = strconv.Atoi(n)
		}
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(in, b); err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// faulty makes a project with one file whose server has a fault.
func faulty(t *testing.T, fault string, o lsp.Options) (s *lsp.Servers, file func(text string), starts func() int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	o.Servers = []lsp.Server{{Name: "fake", Command: []string{self, "-fault", fault, log}, Files: []string{"*.x"}}}
	s, dir := project(t, map[string]string{"a.x": "one\nBAD old\n"}, o)
	return s, func(text string) { write(t, filepath.Join(dir, "a.x"), text) }, func() int {
		b, _ := os.ReadFile(log)
		return strings.Count(string(b), "start\n")
	}
}

func messages(ds []tools.Diagnostic) string {
	var out []string
	for _, d := range ds {
		out = append(out, fmt.Sprintf("%d %s", d.Line, d.Message))
	}
	return strings.Join(out, "; ")
}

func TestPublished(t *testing.T) {
	for _, fault := range []string{"", "stale", "flood", "dies once"} {
		t.Run(fault, func(t *testing.T) {
			s, edit, starts := faulty(t, fault, lsp.Options{})
			got, err := s.Diagnose(within(t, 10*time.Minute), "a.x")
			if err != nil || messages(got) != "2 BAD old" {
				t.Fatalf("%q, %v", messages(got), err)
			}
			edit("zero\none\nBAD old\nBAD new\n")
			got, err = s.Appeared(within(t, 10*time.Minute), lsp.Change{File: "a.x"})
			if err != nil || messages(got) != "4 BAD new" {
				t.Errorf("after an edit: %q, %v", messages(got), err)
			}
			edit("zero\nBAD new\n")
			if got, err = s.Appeared(within(t, 10*time.Minute), lsp.Change{File: "a.x"}); err != nil || len(got) != 0 {
				t.Errorf("after one that mends: %q, %v", messages(got), err)
			}
			want := 1
			if fault == "dies once" {
				want = 2
			}
			if starts() != want {
				t.Errorf("started %d times, want %d", starts(), want)
			}
		})
	}
}

// TestBroken: a server that dies, or sends nonsense, causes an error in time, and after the second
// time it is not started again.
func TestBroken(t *testing.T) {
	for fault, want := range map[string]string{
		"dies": "out of luck", "garbage": "could not be understood", "headers": "could not be understood", "huge": "could not be understood",
	} {
		t.Run(fault, func(t *testing.T) {
			s, _, starts := faulty(t, fault, lsp.Options{Start: 20 * time.Second, Request: 5 * time.Second})
			var err error
			for range 3 {
				if _, err = s.Diagnose(within(t, 10*time.Minute), "a.x"); errors.Is(err, tools.ErrNoServer) {
					break
				} else if err == nil || !strings.Contains(err.Error(), want) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v, want %q", err, want)
				}
			}
			if !errors.Is(err, tools.ErrNoServer) || s.Serves("a.x") || starts() != 2 {
				t.Errorf("%v after %d starts, serves %v; want it given up after 2", err, starts(), s.Serves("a.x"))
			}
		})
	}
}

func TestSilent(t *testing.T) {
	s, _, _ := faulty(t, "silent", lsp.Options{Request: 50 * time.Millisecond})
	var err error
	for range 6 {
		_, err = s.Diagnose(t.Context(), "a.x")
		if err == nil {
			t.Fatal("a server that says nothing was understood")
		}
	}
	if !errors.Is(err, tools.ErrNoServer) || !strings.Contains(err.Error(), "did not answer 5 times") {
		t.Errorf("%v, want it given up", err)
	}
}

// TestNeverReady: neither one that never answers nor one that never reads
// keeps us beyond the time that is allowed.
func TestNeverReady(t *testing.T) {
	for _, fault := range []string{"mute", "deaf"} {
		t.Run(fault, func(t *testing.T) {
			s, _, starts := faulty(t, fault, lsp.Options{Start: time.Second})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if _, err := s.Diagnose(ctx, "a.x"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "still starting") {
				t.Errorf("%v, want that it is still starting", err)
			}
			var err error
			for range 3 {
				_, err = s.Diagnose(t.Context(), "a.x")
			}
			if !errors.Is(err, tools.ErrNoServer) || starts() > 2 {
				t.Errorf("%v after %d starts, want it given up after 2", err, starts())
			}
		})
	}
}

func TestLarge(t *testing.T) {
	s, _, _ := faulty(t, "large", lsp.Options{Request: 10 * time.Minute})
	syms, err := s.Symbols(within(t, 10*time.Minute), "a.x")
	if err != nil || len(syms) != 20000 || syms[19999].Line != 20000 {
		t.Errorf("%d symbols, %v", len(syms), err)
	}
}

// TestPester: a server that only asks is cut off or put up with, never waited for.
func TestPester(t *testing.T) {
	s, _, starts := faulty(t, "pester", lsp.Options{Request: 2 * time.Second})
	begun := time.Now()
	for range 3 {
		_, _ = s.Diagnose(within(t, 10*time.Minute), "a.x")
	}
	if took := time.Since(begun); took > 5*time.Minute || starts() > 2 {
		t.Errorf("it took %s and %d starts", took, starts())
	}
}

func TestRefusals(t *testing.T) {
	s, _, _ := faulty(t, "pull", lsp.Options{})
	if _, err := s.Diagnose(within(t, 10*time.Minute), "a.x"); err == nil || !strings.Contains(err.Error(), "it hurts") {
		t.Errorf("%v, want what the server says", err)
	}
	if _, err := s.Definition(within(t, 10*time.Minute), tools.Location{File: "a.x", Line: 1, Column: 1}); err == nil || !strings.Contains(err.Error(), "could not be read") {
		t.Errorf("%v, want that it makes no sense", err)
	}
	if _, err := s.References(within(t, 10*time.Minute), tools.Location{File: "a.x", Line: 1, Column: 1}); !errors.Is(err, tools.ErrNoServer) {
		t.Errorf("%v, want that it offers none", err)
	}
	if _, err := s.Diagnose(t.Context(), "b.y"); !errors.Is(err, tools.ErrNoServer) {
		t.Errorf("%v, want that nobody serves it", err)
	}
}

// TestAbsent: a server that is not installed, or lies in the workspace, is not started.
func TestAbsent(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, dir := project(t, map[string]string{"a.x": "", "a.y": ""}, lsp.Options{Servers: []lsp.Server{
		{Name: "none", Command: []string{"adroit-no-such-server"}, Files: []string{"*.x"}},
		{Name: "theirs", Command: []string{"theirs"}, Files: []string{"*.y"}},
	}})
	if err := os.Symlink(self, filepath.Join(dir, "theirs")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	for file, want := range map[string]string{"a.x": "is not on PATH", "a.y": "jobs may write in "} {
		if _, err := s.Diagnose(t.Context(), file); !errors.Is(err, tools.ErrNoServer) || !strings.Contains(err.Error(), want) || s.Serves(file) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}
