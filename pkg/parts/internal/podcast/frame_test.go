package podcast

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
)

func TestBreakLines(t *testing.T) {
	for _, c := range []struct {
		in      string
		columns int
		want    []string
	}{
		{"", 10, []string{""}},
		{"one two three four", 9, []string{"one two", "three", "four"}},
		{"今日はパンの話です。", 10, []string{"今日はパン", "の話です。"}},
		{"Rye は黒い", 8, []string{"Rye は黒", "い"}},
		{"Featherstonehaugh-Cholmondeley: yes", 20, []string{"Featherstonehaugh-", "Cholmondeley: yes"}},
		{"5 - 3 a-b", 8, []string{"5 - 3", "a-b"}},
		{strings.Repeat("w", 25), 10, []string{"wwwwwwwwww", "wwwwwwwwww", "wwwww"}},
	} {
		if got := breakLines(c.in, c.columns); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q at %d: %q, want %q", c.in, c.columns, got, c.want)
		}
	}
}

// A long title gets smaller letters before it is cut, a name keeps its colour
// over two lines, and Arabic ends where it should.
func TestSubtitles(t *testing.T) {
	said := transcript.Transcript{Timed: true, Cues: []transcript.Cue{{Start: 0, End: 4, Speaker: "Annabelle Featherstonehaugh-Cholmondeley", Text: "Welcome."}, {Start: 4, End: 8, Speaker: "Ben", Text: "مرحبا بكم."}}}
	for shape, c := range map[string]struct{ short, long, cut string }{
		"16:9": {`,,Why rye sticks`, `{\fs37}Why rye sticks, and what bakers have done about it for\Na thousand years`, `{\fs37}`},
		"9:16": {`,,Why rye sticks`, `{\fs57}Why rye sticks, and what\Nbakers have done about it\Nfor a thousand years`, `{\fs57}`},
		"1:1":  {`,,Why rye sticks`, `{\fs43}Why rye sticks, and what bakers have\Ndone about it for a thousand years`, `{\fs43}`},
	} {
		l := layouts[shape]
		for title, want := range map[string]string{"Why rye sticks": c.short, "Why rye sticks, and what bakers have done about it for a thousand years": c.long, strings.Repeat("Why rye sticks, ", 20): c.cut} {
			got, captions := l.subtitles(said, title, 0, 8, false)
			if !captions || !strings.Contains(got, want) || (len(title) > 200) != strings.Contains(got, "…") {
				t.Errorf("%s %q is shown as\n%s", shape, title, got[strings.Index(got, "[Events]"):])
			}
			if !strings.Contains(got, `{\c&HFCD37D&}Annabelle`) || !strings.Contains(got, "Cholmondeley:{\\c&HFFFFFF&}") || !strings.Contains(got, "مرحبا بكم.\u200f\n") {
				t.Errorf("%s: captions are\n%s", shape, got[strings.Index(got, "[Events]"):])
			}
		}
	}
}

// TestClipShapes makes clips of a recording with title, cover, waves and
// captions, and reads them back with ffprobe. Frames are kept in the directory
// that PODCAST_FRAMES names, to be looked at.
func TestClipShapes(t *testing.T) {
	s := newStudio(t)
	s.write("ep.vtt", strings.NewReplacer("06.500", "03.600").Replace(lines)) // frames take long to encode
	s.ok(processTranscriptTool, `{"path":"ep.vtt"}`)
	s.program("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=1500x1400:d=0.04", "-frames:v", "1", "cover.png")
	for shape, want := range map[string]string{"16:9": "1280,720", "9:16": "1080,1920", "1:1": "1080,1080"} {
		name := "clip-" + strings.ReplaceAll(shape, ":", "x") + ".mp4"
		text := s.ok(cutClipTool, `{"start":3.2,"end":3.4,"out":"`+name+`","shape":"`+shape+`","title":"Why rye sticks, and what bakers have done about it for a thousand years","cover":"cover.png","loudness":true}`)
		if !strings.Contains(text, "captions burnt in") {
			t.Errorf("%s: %s", shape, text)
		}
		if got := s.program("ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=width,height", "-of", "csv=p=0", name); strings.TrimSpace(got) != want {
			t.Errorf("%s: ffprobe reads %s", shape, got)
		}
		s.frame(name, "0.5")
	}
	// Without a cover, of a video, and in a script without spaces.
	s.ok(cutClipTool, `{"start":3.2,"end":3.4,"out":"plain.mp4","shape":"1:1"}`)
	s.frame("plain.mp4", "0.5")
	s.program("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=640x360:r=10:d=4", "-i", "ep.mp3", "-shortest", "-c:v", "libx264", "-preset", "ultrafast", "video.mp4")
	s.arts[audioSource] = []byte(`"video.mp4"`)
	s.ok(cutClipTool, `{"start":3.2,"end":3.4,"out":"tall.mp4","shape":"9:16","title":"Of a video"}`)
	s.frame("tall.mp4", "0.5")
	s.fails(cutClipTool, `{"start":3.2,"end":3.4,"out":"x.mp4","cover":"cover.png"}`, "set audiogram")
	s.tidy()
}

// TestClipOfJapanese has captions in a script that has no spaces, and that the
// installed fonts may lack.
func TestClipOfJapanese(t *testing.T) {
	s := newStudio(t)
	s.write("ja.vtt", "WEBVTT\n\n00:00.000 --> 00:00.600\n<v 田中>"+strings.Repeat("今日はパンの話です。", 8)+"\n")
	s.ok(processTranscriptTool, `{"path":"ja.vtt"}`)
	text := s.ok(cutClipTool, `{"start":0,"end":0.6,"out":"ja.mp4","shape":"9:16"}`)
	fonts := strings.TrimSpace(s.program("fc-list", ":lang=ja", "family"))
	if boxes := strings.Contains(text, "show as boxes"); boxes != (fonts == "") {
		t.Errorf("fonts %q, but %s", fonts, text)
	}
	s.frame("ja.mp4", "0.5")
}

func TestBrief(t *testing.T) {
	got := brief([]string{"a/n.md", "a/t.vtt", "a/t.srt", "a/e.mp3 (-16.0 LUFS)", "b/c.mp4", "feed.xml"})
	if want := "a/: n.md, t.vtt .srt, e.mp3 (-16.0 LUFS); b/: c.mp4; feed.xml"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestClipWithoutSubtitles has an ffmpeg without the filter: the clip is made all the same.
func TestClipWithoutSubtitles(t *testing.T) {
	s := newStudio(t)
	s.ok(processTranscriptTool, `{"path":"ep.vtt"}`)
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := "#!/bin/bash\nset -o pipefail\n" + program + ` "${@//,subtitles=/,absent=}" 2>&1 | sed "s/'absent'/'subtitles'/" >&2` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "ffmpeg"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if text := s.ok(cutClipTool, `{"start":6.5,"end":7,"out":"c.mp4"}`); !strings.Contains(text, "built without the filter subtitles") || strings.Contains(text, "burnt in") {
		t.Error(text)
	}
	if clips, _ := load[[]audioClip](s.env, clipsName); len(clips) != 1 || clips[0].Captions {
		t.Errorf("clips: %+v", clips)
	}
	s.tidy()
}
