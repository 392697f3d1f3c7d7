package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// questions answers POST /questions with the events of a job, as server-sent events. The job
// goes on when the reader goes away; one that sends the same key again follows the same job.
func questions(rt *adroit.Runtime, helper agents.DynamicAgent) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		job, err := adroit.Start(ctx, rt, adroit.Request{Key: r.FormValue("key"), Input: agents.Input{Spec: &helper, Prompt: r.FormValue("question")}})
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Job", job.ID())
		for ev, err := range job.Events(ctx, adroit.EventOptions{Follow: true}) {
			if err != nil {
				fmt.Fprintf(w, "event: error\ndata: %q\n\n", err.Error())
				return
			}
			b, err := json.Marshal(ev)
			if err != nil {
				return
			}
			fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", ev.Seq, ev.Kind, b)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// A web server with a route of its own beside the whole interface under /v1/. Whoever
// reaches the handler may do everything: an [api.Listener] asks for a token.
func Example_server() {
	ctx := context.Background()
	model := must(script.Parse("turns", []byte("turns: [{text: Blue light is scattered most.}]")))
	rt := must(adroit.Open(ctx, adroit.Options{Models: map[string]llm.Model{"script": model}, Model: "script/turns"}))
	defer rt.Close()
	mux := http.NewServeMux()
	mux.Handle("/v1/", api.Handler(rt))
	mux.Handle("POST /questions", questions(rt, agents.DynamicAgent{Name: "helper", Description: "Help.", Prompt: "You help."}))
	server := httptest.NewServer(mux) // http.ListenAndServe in a program
	defer server.Close()

	reply := must(http.Post(server.URL+"/questions?key=sky&question=Why+is+the+sky+blue", "", nil))
	defer reply.Body.Close()
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		if kind, ok := strings.CutPrefix(lines.Text(), "event: job."); ok {
			fmt.Println("job", kind)
		}
	}
	client := api.NewClient(server.URL, server.Client()) // another program, in Go
	job := must(adroit.Find(ctx, client, reply.Header.Get("Job")))
	fmt.Println(must(job.Wait(ctx)).Last)
	// Output:
	// job started
	// job finished
	// Blue light is scattered most.
}
