package podcast

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

type held map[string]json.RawMessage

func (h held) Value(name string) json.RawMessage { return h[name] }
func (h held) Names() []string                   { return nil }

// An episode is not done without the entry of the feed that was asked for, and no entry
// leads to a file that the job has not made.
func TestFeedAsAsked(t *testing.T) {
	files, err := workspace.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	faults := func(h held) string {
		_, list, err := inventory(&tools.Env{Files: files, Artifacts: h})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(list, "\n")
	}
	for want, h := range map[string]held{
		"":                                    {},
		"the user wants an entry in feed.xml": {feedWanted: json.RawMessage(`"feed.xml"`)},
		"feed.xml was refused":                {feedName: json.RawMessage(`{"feed":"feed.xml","refused":"category \"Food\""}`)},
		"feed.xml is gone":                    {feedName: json.RawMessage(`{"feed":"feed.xml","guid":"x"}`)},
	} {
		if got := faults(h); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", want, got)
		}
	}
	untimed, timed := json.RawMessage(`{"format":"text","cues":[]}`), json.RawMessage(`{"format":"vtt","timed":true,"cues":[]}`)
	for _, c := range []struct {
		in   feedInput
		h    held
		want string
	}{
		{feedInput{feedItem: feedItem{Transcript: "https://x.example/12.vtt"}}, held{}, "call process_transcript first"},
		{feedInput{feedItem: feedItem{Transcript: "https://x.example/12.vtt?v=1"}}, held{transcriptName: untimed}, "has no times"},
		{feedInput{feedItem: feedItem{Transcript: "https://x.example/12.vtt"}}, held{transcriptName: timed}, ""},
		{feedInput{feedItem: feedItem{Transcript: "https://x.example/12.txt"}}, held{transcriptName: untimed}, ""},
		{feedInput{feedItem: feedItem{Chapters: "https://x.example/12.json"}}, held{}, "call set_chapters first"},
	} {
		if err := c.in.files(&tools.Env{Artifacts: c.h}); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.in, err)
		}
	}
	r, err := feedEntry(t.Context(), &tools.Env{Files: files, Artifacts: held{}}, feedInput{Feed: "feed.xml", feedItem: feedItem{URL: "no", Title: "Rye"}})
	if state, ok := load[entryState](&tools.Env{Artifacts: held(r.Artifacts)}, feedName); err != nil || !r.Failed || !ok || state.Refused == "" {
		t.Errorf("a refused entry leaves %s: %v %+v", r.Artifacts[feedName], err, r)
	}
}
