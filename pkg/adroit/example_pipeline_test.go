package adroit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// featureTurns are what a model would answer to the steps of the pipeline.
const featureTurns = `scenes:
  - when: You look around in the project
    turns: [{text: '{"summary": "It is empty.", "places": [], "commands": []}'}]
  - when: You divide a task
    turns: [{text: '{"subtasks": [{"title": "Total", "description": "Write total.txt with the total in it.", "files": ["total.txt"]}]}'}]
  - when: You judge a plan
    turns: [{text: '{"valid": true, "problems": []}'}]
  - when: Follow this plan
    turns:
      - calls: [{name: write_file, args: {path: total.txt, content: "3"}}]
      - calls: [{name: finish, args: {summary: The total is in total.txt.}}]`

// must ends the program if something went wrong.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// A pipeline runs until its plan is made; the program is stopped there. A second
// runtime with the same data resumes the job, answers its question and undoes it.
func Example_pipeline() {
	ctx := context.Background()
	dir, data := must(os.MkdirTemp("", "project-")), must(os.MkdirTemp("", "data-"))
	defer os.RemoveAll(dir)
	defer os.RemoveAll(data)
	written := func(next adroit.ToolHandler) adroit.ToolHandler {
		return func(ctx context.Context, call adroit.Invocation) (tools.Result, error) {
			res, err := next(ctx, call)
			if err == nil && call.Tool.Name == "write_file" {
				fmt.Println("write_file was called")
			}
			return res, err
		}
	}
	options := adroit.Options{
		Models: map[string]llm.Model{"script": must(script.Parse("turns", []byte(featureTurns)))}, Model: "script/turns",
		Tools: parts.Tools(),
		Definitions: adroit.Definitions{
			Agents:    []agents.Layer{{Name: "built in", FS: configs.Agents()}},
			Pipelines: []agents.Layer{{Name: "built in", FS: configs.Pipelines()}},
		},
		Workspace: adroit.Workspace{Dir: dir, Servers: []adroit.LanguageServer{}},
		Storage:   adroit.Storage{Data: data, Store: sqlite.Store(data)},
		Callbacks: adroit.Callbacks{Middleware: []func(adroit.ToolHandler) adroit.ToolHandler{written}},
	}
	rt := must(adroit.Open(ctx, options))
	job := must(adroit.Start(ctx, rt, adroit.Request{Target: "feature", Input: agents.Input{Prompt: "add a total", Approve: executor.ApproveAsk}}))
	seen := steps(ctx, job, "plan")
	must(job, rt.Close()) // interrupts the job

	rt = must(adroit.Open(ctx, options))
	defer rt.Close()
	job = must(adroit.Find(ctx, rt, job.ID()))
	if len(must(job.Questions(ctx))) == 0 { // else it was stopped when it had asked already
		must(job.Start(ctx, adroit.StartOptions{}))
	}
	questions := 0
	for ev, err := range job.Events(ctx, adroit.EventOptions{After: seen, Follow: true}) {
		must(ev, err)
		switch ev.Kind {
		case event.StageFinished:
			stage(ev)
		case event.JobWaiting:
			for _, q := range must(job.Questions(ctx)) {
				must(q, job.Approve(ctx, q))
				questions++
			}
			must(job.Start(ctx, adroit.StartOptions{}))
		}
	}
	must(job.Wait(ctx))
	fmt.Println("done after", questions, "questions")
	fmt.Println("undone:", must(job.Undo(ctx, adroit.Selection{})).Removed)
	// Output:
	// scout done
	// plan done
	// validate done
	// revise skipped
	// write_file was called
	// implement done
	// done after 2 questions
	// undone: [total.txt]
}

// steps prints the steps of a pipeline that finish, until one is the last. It returns the
// number of the last event.
func steps(ctx context.Context, job *adroit.Job, last string) (after int64) {
	for ev, err := range job.Events(ctx, adroit.EventOptions{Follow: true}) {
		must(ev, err)
		after = ev.Seq
		if ev.Kind == event.StageFinished && stage(ev) == last {
			break
		}
	}
	return after
}

// stage prints a step of a pipeline that has finished, and returns its id.
func stage(ev event.Event) string {
	var row struct{ Status string }
	must(ev, json.Unmarshal(ev.Data, &row))
	fmt.Println(ev.Text, row.Status)
	return ev.Text
}
