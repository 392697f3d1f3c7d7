package temporal

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/models/script"
)

var update = flag.Bool("update", false, "record the histories of TestReplay anew, on a real server")

// An execution is one of a kept job: of its workflow, of a later one that it continued as, or of a
// sub-agent.
type execution struct {
	ID      string          `json:"id"`
	Run     string          `json:"run"`
	History json.RawMessage `json:"history"`
}

// Kept jobs: what the model plays, and what a person does.
var kept = map[string]struct {
	target  string
	script  []string // of a model without scenes
	scenes  string
	long    int // events after which it continues as new
	approve executor.Approve
	do      func(r *rig, id string) // until the job has ended
	most    bool                    // it has more than one execution
}{
	"tools": {script: []string{"calls: [{name: work, args: {n: 1}}, {name: work, args: {n: 2}}]", "calls: [{name: push, args: {n: 3}}]", "text: Done."}, approve: executor.ApproveAll},
	"question": {script: []string{"calls: [{name: push, args: {n: 1}}]", "text: Done."}, approve: executor.ApproveEdits, do: func(r *rig, id string) {
		r.ended(id, jobs.Waiting)
		r.approve(id)
	}},
	"sub-agents": {target: "leader", scenes: twoParts("10ms"), approve: executor.ApproveEdits, most: true, do: func(r *rig, id string) {
		r.approveAll(id)
	}},
	"continued": {script: turns("work", "1ms"), long: 40, approve: executor.ApproveAll, most: true},
	"cancel": {script: []string{"calls: [{name: work, args: {n: 1, delay: 40s}}]", "text: Done."}, approve: executor.ApproveAll, do: func(r *rig, id string) {
		until(r.t, func() error {
			if r.effects()["begin 1"] == 0 {
				return fmt.Errorf("not begun")
			}
			return nil
		})
		if _, err := r.Cancel(r.t.Context(), id); err != nil {
			r.t.Fatal(err)
		}
		r.ended(id, jobs.Cancelled)
	}},
	"pipeline": {target: "line", script: []string{"calls: [{name: work, args: {n: 1}}]", "text: Found."}, approve: executor.ApproveAll, most: true},
	"message": {script: []string{"text: Done.", "text: More is done."}, approve: executor.ApproveAll, most: true, do: func(r *rig, id string) {
		r.ended(id, jobs.Done)
		_, err := r.Send(r.t.Context(), id, executor.Message{Text: "Do more."})
		if err == nil {
			_, err = r.Start(r.t.Context(), id, adroit.StartOptions{})
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}},
}

// twoParts is the script of a leader and two sub-agents, each with a call that must not be repeated.
func twoParts(delay string) string {
	text := "scenes:\n"
	for i, part := range []string{"one", "two"} {
		text += fmt.Sprintf("  - when: Part %s\n    turns:\n", part)
		for n, tool := range []string{"work", "push", "work"} {
			text += fmt.Sprintf("      - calls: [{name: %s, args: {n: %d, delay: %s}}]\n", tool, 10*(i+1)+n, delay)
		}
		text += "      - text: Part is done.\n"
	}
	return text + "  - when: You lead\n    turns: [text: All is done.]\n"
}

// approve allows what the job asks for.
func (r *rig) approve(id string) {
	r.t.Helper()
	d, err := r.Job(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, q := range d.Questions {
		for _, s := range q.Signals {
			if strings.HasPrefix(s, "approve") {
				if _, err := r.Signal(r.t.Context(), id, adroit.Signal{Name: s, Question: q.Path}); err != nil {
					r.t.Error(err)
				}
			}
		}
	}
}

// approveAll allows what the job asks for until it is done.
func (r *rig) approveAll(id string) {
	r.t.Helper()
	until(r.t, func() error {
		j, err := r.Wait(r.t.Context(), id)
		if err != nil {
			return err
		}
		if j.Status == jobs.Done {
			return nil
		}
		if d, err := r.Job(r.t.Context(), id); err == nil {
			for _, q := range d.Questions {
				for _, s := range q.Signals {
					if strings.HasPrefix(s, "approve") {
						_, err = r.Signal(r.t.Context(), id, adroit.Signal{Name: s, Question: q.Path})
					}
				}
				if err == nil {
					break // else it has its answer: what others ask is asked for again
				}
				err = nil
			}
		}
		return fmt.Errorf("it is %s: %s", j.Status, j.Reason)
	})
}

// record runs a job on a real server and keeps the histories of all its executions.
func record(t *testing.T, name string) {
	k := kept[name]
	dir := "/tmp/adroit-histories" // inputs have its name, and with it the ids of activities
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("HOST", "recorded")
	t.Setenv("LONG", fmt.Sprint(k.long))
	r := servedIn(t, dir)
	if k.scenes != "" {
		r.plays(k.scenes)
	} else {
		r.with(k.script...)
	}
	target := k.target
	if target == "" {
		target = "worker"
	}
	id := r.beginAs(target, k.approve)
	if k.do != nil {
		k.do(r, id)
	}
	if name != "cancel" {
		r.ended(id, jobs.Done)
	}
	var all []execution
	until(t, func() error { // Temporal's list lags
		page, err := r.cluster.c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default", Query: fmt.Sprintf("WorkflowId = %q OR RootWorkflowId = %q", id, id)})
		if err != nil {
			return err
		}
		all = nil
		for _, e := range page.Executions {
			if e.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
				return fmt.Errorf("%s has not ended", e.Execution.WorkflowId)
			}
			h := new(historypb.History)
			for it := r.cluster.c.GetWorkflowHistory(t.Context(), e.Execution.WorkflowId, e.Execution.RunId, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
				ev, err := it.Next()
				if err != nil {
					return err
				}
				h.Events = append(h.Events, ev)
			}
			b, err := protojson.Marshal(h)
			if err != nil {
				return err
			}
			machine, err := os.Hostname()
			if err != nil {
				return err
			}
			var tidy bytes.Buffer
			if err := json.Compact(&tidy, bytes.ReplaceAll(b, []byte(machine), []byte("machine"))); err != nil {
				return err
			}
			all = append(all, execution{e.Execution.WorkflowId, e.Execution.RunId, tidy.Bytes()})
		}
		if len(all) == 0 || k.most && len(all) < 2 {
			return fmt.Errorf("%d executions", len(all))
		}
		return nil
	})
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", "histories", name+".json"), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestReplay replays the histories of kept jobs: code that asks for other steps than it did, or in
// another order, blocks the jobs that run while a program is exchanged. With -update it records
// them anew on a real server; what changes belongs into the release's notes.
func TestReplay(t *testing.T) {
	model, err := script.Parse("turns", []byte("turns: [text: Done.]"))
	if err != nil {
		t.Fatal(err)
	}
	rt, err := runtime(t.Context(), t.TempDir(), "worker", "", model, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	m, err := rt.Manager(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range kept {
		t.Run(name, func(t *testing.T) {
			if *update {
				record(t, name)
			}
			b, err := os.ReadFile(filepath.Join("testdata", "histories", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var all []execution
			if err := json.Unmarshal(b, &all); err != nil {
				t.Fatal(err)
			}
			if len(all) == 0 || k.most && len(all) < 2 {
				t.Errorf("%d executions", len(all))
			}
			for _, e := range all {
				if err := replay(e, m.Workflows); err != nil {
					t.Errorf("%s: %v", e.ID, err)
				}
			}

			// A step that was not there before is noticed.
			var other []flow.Workflow
			for _, wf := range m.Workflows {
				own := wf.Run
				wf.Run = func(r *flow.Run, in json.RawMessage) (json.RawMessage, error) {
					if _, err := flow.Do[string](r, "tool", "another", 1); err != nil {
						return nil, err
					}
					return own(r, in)
				}
				other = append(other, wf)
			}
			for _, e := range all {
				if err := replay(e, other); err == nil {
					t.Errorf("%s: another first step is not noticed", e.ID)
				}
			}
		})
	}
}

func replay(e execution, known []flow.Workflow) error {
	h, err := client.HistoryFromJSON(bytes.NewReader(e.History), client.HistoryJSONOptions{})
	if err != nil {
		return err
	}
	r := worker.NewWorkflowReplayer()
	r.RegisterDynamicWorkflow(func(ctx workflow.Context, args converter.EncodedValues) (json.RawMessage, error) {
		var c Carry
		if err := args.Get(&c); err != nil {
			return nil, err
		}
		return run(ctx, known, mostBytes, c)
	}, workflow.DynamicRegisterOptions{})
	return r.ReplayWorkflowHistoryWithOptions(log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))), h, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: e.ID, RunID: e.Run},
	})
}
