package adroit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A lab is a model of a server with a protocol of its own: a line of the conversation for each
// message goes out, and an answer, or "CALL name arguments", comes back.
type lab struct{ url string }

// Generate implements llm.Model. It does not retry: the engine does, if the kind of the
// error says that it helps.
func (l lab) Generate(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	var lines strings.Builder
	for _, m := range req.Messages {
		fmt.Fprintf(&lines, "%s: %s\n", m.Role, m.Text)
	}
	post, err := http.NewRequestWithContext(ctx, "POST", l.url, strings.NewReader(lines.String()))
	if err != nil {
		return nil, &llm.Error{Kind: llm.BadRequest, Provider: "lab", Message: err.Error(), Err: err}
	}
	reply, err := http.DefaultClient.Do(post)
	if err != nil {
		return nil, errors.Join(ctx.Err(), &llm.Error{Kind: llm.Unreachable, Provider: "lab", Message: err.Error(), Err: err})
	}
	defer reply.Body.Close()
	b, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		return nil, &llm.Error{Kind: llm.Overloaded, Provider: "lab", Status: reply.StatusCode, Message: reply.Status, Err: err}
	}
	answer := llm.Message{Role: llm.Assistant, Text: strings.TrimSpace(string(b))}
	stop := llm.StopEnd
	if call, ok := strings.CutPrefix(answer.Text, "CALL "); ok {
		name, args, _ := strings.Cut(call, " ")
		answer.Text, stop = "", llm.StopCalls
		answer.Calls = []llm.Call{{ID: fmt.Sprint("call", len(req.Messages)), Name: name, Args: json.RawMessage(args)}}
	}
	if emit != nil {
		emit(llm.Delta{Text: answer.Text})
	}
	return &llm.Response{Message: answer, Stop: stop, Usage: llm.Usage{In: lines.Len() / 4, Out: len(b) / 4}}, nil
}

// A model of the program's own answers with calls of tools, as any other.
func Example_model() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if strings.HasSuffix(string(b), "tool: 4\n") {
			fmt.Fprintln(w, "There are four words.")
			return
		}
		fmt.Fprintln(w, `CALL word_count {"text": "the quick brown fox"}`)
	}))
	defer server.Close()
	answer := must(adroit.Ask(context.Background(), llm.Named(lab{server.URL}, "small"), "How many words has: the quick brown fox?", wordCount))
	fmt.Println(answer)
	// Output: There are four words.
}
