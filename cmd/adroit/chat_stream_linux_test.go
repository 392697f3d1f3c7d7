package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// answers is a server of a model that writes what it is given, piece by piece.
type answers struct {
	*httptest.Server
	pieces chan string // "" ends an answer
	asked  chan string // the last message of each request
}

func newAnswers(t *testing.T) *answers {
	s := &answers{pieces: make(chan string, 64), asked: make(chan string, 64)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []struct{ Content json.RawMessage }
		}
		if json.NewDecoder(r.Body).Decode(&in) != nil || len(in.Messages) == 0 {
			http.NotFound(w, r)
			return
		}
		s.asked <- string(in.Messages[len(in.Messages)-1].Content)
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case <-r.Context().Done():
				return
			case p := <-s.pieces:
				text, _ := json.Marshal(p)
				if p == "" {
					fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":20}}\n\ndata: [DONE]\n\n")
					return
				}
				fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text)
				w.(http.Flusher).Flush()
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

var sequences = regexp.MustCompile(`\x1b(\[[0-9;?<>=$ ]*[a-zA-Z]|\][0-9]*;[^\x07\x1b]*(\x07|\x1b\\)|[=>PM78])`)

// What a person types at the question about the project's files is sent once that is
// answered; the meter names what the model does; what it had written stays when Esc stops
// it, and the next answer begins in a row of its own and stands there once.
func TestChatStreams(t *testing.T) {
	t.Parallel()
	for _, columns := range []uint16{40, 80, 120} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			s := newAnswers(t)
			p := newPlace(t, map[string]string{"repo/AGENTS.md": "Be kind.\n"})
			x, wait := p.terminal(columns, []string{"TERM=xterm-256color", "OPENAI_API_KEY=x"}, "chat", "-m", "openai/m", "--base-url", s.URL+"/v1")
			at := x.see(0, "y use them")
			x.write("no way to start, is there?\r")
			at = x.see(at, "is kept")
			x.write("y\r")
			at = x.see(at, "> no way to start")
			if got := <-s.asked; !strings.Contains(got, "no way to start, is there?") {
				t.Errorf("the model was asked %s", got)
			}
			s.pieces <- "Half of a sentence with more to come "
			at = x.see(at, "     Half of a sentence with more to")
			at = x.see(at, "writing")
			x.write("\x1b")
			at = x.see(at, "the answer broke off here")
			at = x.see(at, "your next message redirects it")
			at = x.see(at, "chat  openai/m  ")
			at = x.see(at, "repo")
			at = x.see(at, "mode edits (Shift+Tab)  /help")
			behind := at
			x.write("go on\r")
			if got := <-s.asked; !strings.Contains(got, "I stopped you in this answer:\\n````\\nHalf of a sentence with more to come\\n````\\n\\ngo on") {
				t.Errorf("the model does not read where it was stopped: %s", got)
			}
			s.pieces <- "One.\n\nTwo.\n\n| Name | What it does |\n|---|--:|\n| cart | adds `prices` |\n"
			s.pieces <- "\n" + strings.Repeat("Many words of a paragraph. ", 12)
			at = x.see(at, "     cart   adds \x1b[35mprices\x1b[0m")
			at = x.see(at, "     Many words of a paragraph.") // rows are finished while it goes on
			s.pieces <- "\n\n```go\nfunc f() {}\n```\n"
			at = x.see(at, "\x1b[35mfunc\x1b[0m f() {}")
			s.pieces <- ""
			at = x.see(at, "100 tokens in")
			x.write("\x04")
			if x.see(at, "adroit chat --continue J"); wait() != 0 {
				t.Error("it did not leave in order")
			}
			text := sequences.ReplaceAllString(x.text(), "")
			if !regexp.MustCompile(`(to|    ) come *\s*\n *the answer broke off here`).MatchString(text) {
				t.Errorf("what was written before Esc is gone:\n%q", text)
			}
			for _, once := range []string{"     One.\r\n", "     Two.\r\n", "     Many words of a paragraph.", "     func f() {}\r\n"} {
				if n := strings.Count(sequences.ReplaceAllString(x.text()[behind:], ""), once); n != 1 {
					t.Errorf("%q was printed %d times:\n%q", once, n, x.text()[behind:])
				}
			}
			if strings.Contains(text, "-1") {
				t.Errorf("negative figures:\n%q", text)
			}
		})
	}
}

// An edit is approved as a diff with the numbers of its lines; Ctrl+O shows what was shown in
// part: the question while one waits, then calls and thoughts, the newest first.
func TestChatUnfolds(t *testing.T) {
	t.Parallel()
	var file, grown strings.Builder
	for i := range 40 {
		fmt.Fprintf(&file, "line %d\n", i+1)
		fmt.Fprintf(&grown, "row %d\n", i+1)
	}
	long := "a long word after another, " + strings.Repeat("and more of it, ", 12) + "to the end"
	for _, columns := range []uint16{40, 80, 120} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			turns, _ := json.Marshal(map[string]any{"turns": []any{
				map[string]any{"thinking": "It is line seven.\nSurely.", "calls": []any{map[string]any{"name": "edit_file", "args": map[string]any{"path": "a.txt", "old": "line 7\n", "new": "line seven\n"}}}},
				map[string]any{"calls": []any{map[string]any{"name": "write_file", "args": map[string]any{"path": "a.txt", "content": grown.String()}}}},
				map[string]any{"calls": []any{map[string]any{"name": "shell", "args": map[string]any{"command": "echo '" + long + "'"}}}},
				map[string]any{"text": "Done."},
			}})
			p := newPlace(t, map[string]string{"repo/a.txt": file.String(), "turns.json": string(turns)})
			x, wait := p.terminal(columns, []string{"TERM=xterm-256color"}, "chat", "-m", "script:../turns.json", "--approve", "ask")
			at := x.see(0, "/help")
			x.write("change it\r")
			at = x.see(at, "edit_file wants to run:")
			at = x.see(at, "    6  line 6")
			at = x.see(at, "\x1b[31m    7 -line 7\x1b[0m")
			at = x.see(at, "\x1b[32m    7 +line seven\x1b[0m")
			at = x.see(at, "y yes")
			x.write("y\r")
			at = x.see(at, "write_file wants to run:")
			at = x.see(at, "lines in all; v shows them)")
			x.write("\x0f")
			at = x.see(at, "   40 +row 40")
			at = x.see(at, "y yes")
			x.write("y\r")
			at = x.see(at, "shell wants to run:")
			at = x.see(at, "y yes")
			x.write("y\r")
			at = x.see(at, "Done.")
			at = x.see(at, "/help")
			x.write("\x0f\x1b[F") // the end of it
			at = x.see(at, "to the end")
			at = x.see(at, "Ctrl+O folds")
			x.write("\x1b[D")
			at = x.see(at, "\x1b[31m    1 -line 1\x1b[0m")
			at = x.see(at, " of 8")
			x.write("\x1b[6~\x1b[6~\x1b[6~\x1b[6~\x1b[6~\x1b[6~\x1b[6~")
			at = x.see(at, "+row 40\x1b[0m")
			x.write("\x1b[D\x1b[D")
			at = x.see(at, "It is line seven.")
			at = x.see(at, "Surely.")
			x.write("\x0f")
			at = x.see(at, "/help")
			x.write("\x0f")
			at = x.see(at, "Ctrl+O folds")
			x.write("\x0f\x04")
			if x.see(at, "adroit chat --continue J"); wait() != 0 {
				t.Error("it did not leave in order")
			}
			if p.read("repo/a.txt") != grown.String() {
				t.Error("what was approved was not done")
			}
		})
	}
}

// A paste that never ends is left with a key; an answer of thousands of lines in one paragraph
// stands there once, in order, and the conversation goes on.
func TestChatOddStreams(t *testing.T) {
	t.Parallel()
	s := newAnswers(t)
	p := newPlace(t, nil)
	x, wait := p.terminal(80, []string{"TERM=xterm-256color", "OPENAI_API_KEY=x"}, "chat", "-m", "openai/m", "--base-url", s.URL+"/v1")
	at := x.see(0, "/help")
	x.write("\x1b[200~begun and never ended")
	await(t, "what was pasted", func() bool {
		x.write("\x1b[27u") // Esc; one that comes with the paste is a part of it
		return strings.Contains(x.text()[at:], "begun and never ended")
	})
	x.write("\x15count for me\r")
	at = x.see(at, "> count for me")
	<-s.asked
	const lines = 3000
	for i := range lines {
		s.pieces <- fmt.Sprintf("line %d of many\n", i)
	}
	s.pieces <- "Family: 👨\u200d👩\u200d👧."
	s.pieces <- ""
	at = x.see(at, "👨\u200d👩\u200d👧.")
	at = x.see(at, "/help")
	x.write("\x04")
	if wait() != 0 {
		t.Error("it did not leave in order")
	}
	next := 0
	for _, row := range newGrid(t, 80, x.text()).rows {
		text := ""
		for _, c := range row {
			text += string(c.r)
		}
		if n := 0; strings.HasPrefix(text, "     line ") {
			if _, err := fmt.Sscanf(text, "     line %d of many", &n); err != nil || n != next {
				t.Fatalf("%q, %v: line %d was to come", text, err, next)
			}
			next++
		}
	}
	if next != lines {
		t.Errorf("%d of %d lines are there", next, lines)
	}
}
