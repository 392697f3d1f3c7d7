package podcast

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
)

func FuzzTranscript(f *testing.F) {
	for _, s := range []string{
		"1\n00:00:01,000 --> 00:00:02,500\n<i>Hello</i>\n\n2\n-00:00:03,000 --> 00:00:02,000\n{\\an8}Bye\n",
		"WEBVTT\n\nNOTE x\n\n00:01.000 --> 00:02.000 line:0\n<v Ann>Hello &lt;<00:01.500>there\n",
		`{"segments":[{"speaker":"Ann","startTime":0.5,"endTime":1e9,"body":"Hello"}]}`,
		`[{"start":"1","end":2,"text":"a"}]`, "Ann: Hello\n\n[00:01] Ben: Bye\n", "Ann  0:01\nHello\n", "\xff\xfeA\x00", "\x81\x8d",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := transcript.Parse(b)
		if err != nil {
			return
		}
		if len(got.Cues) == 0 || len(got.Cues) > 100_000 {
			t.Fatalf("%d cues and no error", len(got.Cues))
		}
		last := 0.0
		for _, q := range got.Cues {
			switch {
			case q.Text == "":
				t.Fatalf(`q.Text is "": cue %q of %q`, q.Text, q.Speaker)
			case !utf8.ValidString(q.Text + q.Speaker):
				t.Fatalf("utf8.ValidString(q.Text+q.Speaker) is false: cue %q of %q", q.Text, q.Speaker)
			case strings.ContainsAny(q.Text+q.Speaker, "\x00\x1b\n"):
				t.Fatalf(`strings.ContainsAny(q.Text+q.Speaker, "\x00\x1b\n") is true: cue %q of %q`, q.Text, q.Speaker)
			case len(q.Speaker) > 100:
				t.Fatalf("len(q.Speaker) > 100: cue %q of %q", q.Text, q.Speaker)
			}
			switch {
			case !transcript.Sane(q.Start):
				t.Fatalf("sane(q.Start) is false: cue %+v after %v", q, last)
			case !transcript.Sane(q.End):
				t.Fatalf("sane(q.End) is false: cue %+v after %v", q, last)
			case q.End < q.Start:
				t.Fatalf("q.End < q.Start: cue %+v after %v", q, last)
			case got.Timed && q.Start < last:
				t.Fatalf("got.Timed && q.Start < last: cue %+v after %v", q, last)
			}
			last = q.Start
		}
		if _, err := json.Marshal(got); err != nil {
			t.Fatal(err)
		}
		_ = report(got)
		text, _ := layouts["9:16"].subtitles(got, "", 0, 100*3600, false)
		_, events, _ := strings.Cut(text, "Effect, Text\n")
		own := strings.NewReplacer(`\N`, "", `{\c&HFCD37D&}`, "", `{\c&HFFFFFF&}`, "")
		for line := range strings.Lines(events) {
			if text := strings.SplitN(line, ",", 10); len(text) != 10 || strings.ContainsAny(own.Replace(text[9]), `\{}`) {
				t.Fatalf("caption %q", line)
			}
		}
	})
}
