package podcast

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
)

func TestFigures(t *testing.T) {
	said := transcript.Transcript{Cues: []transcript.Cue{{Text: "We killed it one hundred and fifty-five times in 2019, 1,500 jobs, two point five percent."},
		{Text: "That was twenty twenty-six, three thousand and five days, 42%. A million."}}}
	n := showNotes{Summary: "155 kills of 1500 jobs in 2019: 2.5 %, 3005 days of 2026, 42 and 1000000. Over 90 % of mp3 at 12:30.", Topics: []noteTopic{{Text: "7 tips and 1.500 jobs"}}}
	n.Unverified = n.unverified(said)
	if want := []string{"90", "7"}; !reflect.DeepEqual(n.Unverified, want) {
		t.Fatalf("unverified: %q, want %q", n.Unverified, want)
	}
	page := n.Markdown()
	for _, want := range []string{"Over 90 (unverified) % of mp3 at 12:30.", "7 (unverified) tips and 1.500 jobs", "155 kills of"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
	if !strings.Contains(n.warning(), "90; 7") || !strings.Contains(description(n), "90 (unverified)") {
		t.Errorf("%s\n%s", n.warning(), description(n))
	}
}

// Every timed format reads back as what was written, hostile text included.
func TestExportsReadBack(t *testing.T) {
	want := transcript.Transcript{Timed: true, Duration: 7300, Cues: []transcript.Cue{
		{Start: 0, End: 1.5, Speaker: "Ann", Text: "Is 1 < 2 & 3 > 2?"}, {Start: 1.5, End: 4, Speaker: "Ann", Text: "a --> b <v Eve>"}, {Start: 4, End: 4.25, Speaker: "Ben", Text: "パンの話"}, {Start: 7200.001, End: 7203.999, Speaker: "Ben", Text: "The end."},
	}}
	for _, f := range transcript.Formats {
		b, err := f.Write(want, "Rye & <more>")
		if err != nil {
			t.Fatal(err)
		}
		if !f.Timed {
			if !strings.Contains(string(b), "**Ben** (0:04) パンの話\n\n(2:00:00) The end.") {
				t.Errorf("%s", b)
			}
			continue
		}
		got, err := transcript.Parse(b)
		if err != nil {
			t.Fatalf("%s: %v\n%s", f.Ext, err, b)
		}
		if f.Ext == ".srt" { // it has no place for speakers, and others read tags in it
			for i := range got.Cues {
				got.Cues[i].Speaker, got.Cues[i].Text = want.Cues[i].Speaker, strings.TrimPrefix(got.Cues[i].Text, want.Cues[i].Speaker+": ")
			}
		}
		switch {
		case len(got.Cues) != len(want.Cues):
			t.Errorf("len(got.Cues) is %v, want %v: %s reads back as\n%+v\nof\n%s", len(got.Cues), len(want.Cues), f.Ext, got.Cues, b)
		case got.Cues[3] != want.Cues[3]:
			t.Errorf("got.Cues[3] is %v, want %v: %s reads back as\n%+v\nof\n%s", got.Cues[3], want.Cues[3], f.Ext, got.Cues, b)
		case got.Cues[0].Text != want.Cues[0].Text:
			t.Errorf("got.Cues[0].Text is %v, want %v: %s reads back as\n%+v\nof\n%s", got.Cues[0].Text, want.Cues[0].Text, f.Ext, got.Cues, b)
		case got.Cues[2] != want.Cues[2]:
			t.Errorf("got.Cues[2] is %v, want %v: %s reads back as\n%+v\nof\n%s", got.Cues[2], want.Cues[2], f.Ext, got.Cues, b)
		}
	}
	// Cues without an end last until the next one.
	open := transcript.Transcript{Timed: true, Cues: []transcript.Cue{{Start: 1, End: 1, Text: "a"}, {Start: 2, End: 2, Text: "b"}}}
	if vtt := open.VTT(); !strings.Contains(vtt, "00:00:01.000 --> 00:00:02.000") || !strings.Contains(vtt, "00:00:02.000 --> 00:00:04.000") {
		t.Error(vtt)
	}
}

// What is saved is read by other programs: subtitles by ffprobe, JSON by the
// parser of the package.
func TestSaveEpisode(t *testing.T) {
	s := newStudio(t)
	s.fails(saveEpisodeTool, `{"dir":"out"}`, "nothing to save")
	s.write("raw.vtt", "WEBVTT\n\n00:00.000 --> 00:03.000\n<v SPEAKER_00>Um, welcome to the, uh, bread show.\n\n00:03.000 --> 00:06.500\n<v SPEAKER_01>Rye sticks.\n")
	s.fails(processTranscriptTool, `{"path":"raw.vtt","names":[{"label":"SPEAKER_02","name":"Ann"}]}`, `nobody is called ["SPEAKER_02"]`)
	text := s.ok(processTranscriptTool, `{"path":"raw.vtt","drop_fillers":"en","names":[{"label":"speaker_00","name":"Ann"},{"label":"SPEAKER_01","name":"Ben"}]}`)
	if !strings.Contains(text, "speakers: Ann, Ben") || !strings.Contains(text, "[0] Ann: Welcome to the, bread show.") {
		t.Error(text)
	}
	s.ok(setShowNotesTool, `{"title":"Rye","summary":"Ann and Ben talk about 3 kinds of rye.","topics":[{"time":3,"text":"Why rye sticks"}],"links":[{"title":"Rye","url":"https://example.com/rye"}]}`)
	s.ok(setChaptersTool, `{"chapters":[{"startTime":0,"title":"Welcome"}]}`)
	s.arts[socialName] = []byte(`{"posts":[{"network":"mastodon","text":"Rye sticks. https://example.com/12"}]}`)
	text = s.ok(saveEpisodeTool, `{"dir":"out/12"}`)
	for name, want := range map[string]string{
		"notes.md": "3 (unverified) kinds of rye", "chapters.json": `"title": "Welcome"`, "transcript.vtt": "<v Ann>Welcome to the, bread show.",
		"transcript.srt": "Ben: Rye sticks.", "transcript.md": "**Ben** (0:03) Rye sticks.", "transcript.json": `"body": "Rye sticks."`, "social.md": "## mastodon\n\nRye sticks. https",
	} {
		b, err := os.ReadFile(filepath.Join(s.dir, "out/12", name))
		if err != nil || !strings.Contains(string(b), want) || !strings.Contains(text, "out/12/"+name) {
			t.Errorf("%s: %v\n%s\nwant %q", name, err, b, want)
		}
	}
	for _, name := range []string{"vtt", "srt"} {
		if got := s.program("ffprobe", "-v", "error", "-show_entries", "packet=pts_time,duration_time", "-of", "csv=p=0", "out/12/transcript."+name); strings.TrimSpace(got) != "0.000000,3.000000\n3.000000,3.500000" {
			t.Errorf("ffprobe reads of %s:\n%s", name, got)
		}
	}
	s.write("plain.txt", "Ann: Hello there.\n\nAnn: Bye.\n")
	s.ok(processTranscriptTool, `{"path":"plain.txt"}`)
	if text := s.ok(saveEpisodeTool, `{"dir":"plain"}`); !strings.Contains(text, "transcript.vtt was not written: the transcript has no times") {
		t.Error(text)
	}
	s.fails(saveEpisodeTool, `{"dir":"../out"}`, `".."`)
}
