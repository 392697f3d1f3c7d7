package adroittest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// A message goes on with a job that is done, in its conversation and once; one
// that comes while the job runs is read instead of ending.
func testMessage(t *testing.T, f *fixture) {
	j := f.run(t, f.request(executor.ApproveAll))
	_, err := f.Send(t.Context(), j.ID, executor.Message{Text: " \n"})
	kind(t, err, problem.Invalid)
	_, err = f.Send(t.Context(), j.ID, executor.Message{Text: "Go on.", Model: "nobody/x"})
	kind(t, err, problem.Invalid)
	_, err = f.Send(t.Context(), j.ID, executor.Message{Text: "Go on.", Limits: executor.Limits{Turns: -1}})
	kind(t, err, problem.Invalid)
	sent, err := f.Send(t.Context(), j.ID, executor.Message{Text: "Again, please.", Limits: executor.Limits{Turns: 9}})
	must(t, err)
	if sent.Status != jobs.Queued || len(sent.Signals) != 1 {
		t.Fatalf("%+v", sent)
	}
	d, err := f.Job(t.Context(), j.ID)
	must(t, err)
	if d.Unread != 1 || d.Job.Status != jobs.Queued {
		t.Errorf("%+v", d)
	}
	f.start(t, j.ID)
	again, err := f.Wait(t.Context(), j.ID)
	must(t, err)
	if again.Status != jobs.Done {
		t.Fatalf("%s: %s", again.Status, again.Reason)
	}
	said(t, f, j.ID, "Again, please.", 3, 4)
	compacted(t, f, j.ID)

	s, err := f.Submit(t.Context(), f.waiting())
	must(t, err)
	f.start(t, s.Job.ID)
	<-f.slow
	sent, err = f.Send(t.Context(), s.Job.ID, executor.Message{Text: "Be quick."})
	must(t, err)
	if sent.Status != jobs.Running || len(sent.Signals) != 1 {
		t.Errorf("%+v", sent)
	}
	_, err = f.Send(t.Context(), s.Job.ID, executor.Message{Text: "Hurry.", Limits: executor.Limits{Turns: 9}})
	kind(t, err, problem.Invalid)
	close(f.release)
	j, err = f.Wait(t.Context(), s.Job.ID)
	must(t, err)
	if j.Status != jobs.Done {
		t.Fatalf("%s: %s", j.Status, j.Reason)
	}
	said(t, f, s.Job.ID, "Be quick.", 2, 2)

	replaced(t, f)
	p := f.run(t, adroit.Request{Target: "greet", Input: f.request(executor.ApproveAll).Input})
	_, err = f.Send(t.Context(), p.ID, executor.Message{Text: "More."})
	if e := kind(t, err, problem.Invalid); !strings.Contains(e.Message, "takes no messages") {
		t.Error(e)
	}
}

// compacted checks that a job that has ended can be compacted: the model is asked
// nothing that belongs to the job, and the job ends as it had.
func compacted(t *testing.T, f *fixture, id string) {
	t.Helper()
	before, err := f.Job(t.Context(), id)
	must(t, err)
	sent, err := f.Send(t.Context(), id, executor.Message{Compact: true})
	must(t, err)
	if sent.Status != jobs.Queued {
		t.Fatalf("%+v", sent)
	}
	f.start(t, id)
	j, err := f.Wait(t.Context(), id)
	must(t, err)
	after, err := f.Job(t.Context(), id)
	must(t, err)
	if j.Status != jobs.Done || after.Final == nil || after.Final.Summary != before.Final.Summary || after.Final.Turns != before.Final.Turns {
		t.Errorf("%s: %s\n%+v\n%+v", j.Status, j.Reason, before.Final, after.Final)
	}
}

// said checks that a job's model was given words once, with its request of a turn,
// and answered in so many turns.
func said(t *testing.T, f *fixture, id, words string, turn, turns int) {
	t.Helper()
	tr, err := f.Transcript(t.Context(), id)
	must(t, err)
	if len(tr.Turns) != turns {
		t.Fatalf("%d turns, want %d", len(tr.Turns), turns)
	}
	for _, x := range tr.Turns {
		n := 0
		for _, m := range x.New {
			n += strings.Count(m.Text, words)
		}
		if sent := x.Turn == turn; sent != (n == 1) || n > 1 {
			t.Errorf("turn %d has %q %d times", x.Turn, words, n)
		}
	}
}

// replaced sends secrets: the answer has what was replaced as a value, and nobody keeps it.
func replaced(t *testing.T, f *fixture) {
	t.Helper()
	const key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	r := f.waiting()
	r.Prompt = "Wait with " + key
	s, err := f.Submit(t.Context(), r)
	must(t, err)
	j, err := f.Send(t.Context(), s.Job.ID, executor.Message{Text: "Use " + key})
	must(t, err)
	for where, j := range map[string]*jobs.Job{"the prompt": s.Job, "the message": j} {
		if len(j.Replaced) != 1 || j.Replaced[0].Where != where || j.Replaced[0].Kind == "" || j.Replaced[0].Fingerprint == "" || strings.Contains(string(j.Input), key) {
			t.Errorf("%s: %+v, %s", where, j.Replaced, j.Input)
		}
	}
	d, err := f.Job(t.Context(), s.Job.ID)
	must(t, err)
	if len(d.Job.Replaced) > 0 {
		t.Errorf("it is kept: %v", d.Job.Replaced)
	}
	_, err = f.Cancel(t.Context(), s.Job.ID)
	must(t, err)
}

const picture = "GIF89aa a     picture"

// What a request and a message attach is read once, and the bytes of an image are
// in no value that a client gets.
func testAttach(t *testing.T, f *fixture) {
	write := func(name, content string) {
		must(t, os.WriteFile(filepath.Join(f.dir, name), []byte(content), 0o600))
	}
	write("plan.txt", "one\ntwo\nthree\n")
	write("shot.gif", picture)
	r := f.request(executor.ApproveAll)
	r.Attached = executor.Attached{Mentions: "by @plan.txt:2, x@plan.txt and @shot.gif", Attachments: []executor.Attachment{{Path: "pasted.gif", Data: []byte(picture), Text: "forged"}}}
	p, err := f.Resolve(t.Context(), r)
	must(t, err)
	if len(p.Input.Attachments) != 3 || len(p.Task.Images) != 2 || p.Input.Mentions != "" {
		t.Fatalf("%+v", p.Input)
	}
	j := f.run(t, r)
	if j.Status != jobs.Done {
		t.Fatalf("%s: %s", j.Status, j.Reason)
	}
	tr, err := f.Transcript(t.Context(), j.ID)
	must(t, err)
	first := tr.Turns[0].New[1]
	for _, want := range []string{"Write out.txt.", "[image pasted.gif 8289x8289 1 KB]", "[image shot.gif ", "<attached path=\"plan.txt\" lines=\"2-2\">\ntwo\n</attached>"} {
		if !strings.Contains(first.Text, want) {
			t.Errorf("the model was sent %q, without %q", first.Text, want)
		}
	}
	if strings.Contains(first.Text, "forged") || len(first.Images) != 2 || first.Images[0].Data != nil && len(first.Images[0].Data) != len(picture) {
		t.Errorf("%+v", first)
	}

	must(t, os.Remove(filepath.Join(f.dir, "plan.txt")))
	_, err = f.Send(t.Context(), j.ID, executor.Message{Text: "And @plan.txt?", Attached: executor.Attached{Mentions: "And @plan.txt?"}})
	if e := kind(t, err, problem.Invalid); !strings.Contains(e.Message, "@plan.txt: there is no such file") {
		t.Error(e)
	}
	_, err = f.Send(t.Context(), j.ID, executor.Message{Text: "See @shot.gif.", Attached: executor.Attached{Mentions: "See @shot.gif."}})
	must(t, err)
	f.start(t, j.ID)
	j, err = f.Wait(t.Context(), j.ID)
	must(t, err)
	if j.Status != jobs.Done {
		t.Fatalf("%s: %s", j.Status, j.Reason)
	}
	said(t, f, j.ID, "See @shot.gif.\n\n[image shot.gif 8289x8289 1 KB]", 3, 4)
	_, err = f.Submit(t.Context(), adroit.Request{Target: "greet", Input: r.Input})
	if e := kind(t, err, problem.Invalid); !strings.Contains(e.Message, "there is no such file") {
		t.Error(e)
	}
}
