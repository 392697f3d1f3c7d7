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
