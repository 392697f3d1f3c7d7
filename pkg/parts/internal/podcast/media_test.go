package podcast

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// allTools are the tools of the package, in the order one would use them.
func allTools() []tools.Tool {
	return []tools.Tool{
		transcribeTool(Config{}), processTranscriptTool, readTranscriptTool, probeAudioTool, setShowNotesTool, writeShowNotesTool,
		setChaptersTool, checkEpisodeTool, masterTool, cutClipTool, feedEntryTool, saveEpisodeTool,
	}
}

func TestTools(t *testing.T) { toolstest.Check(t, allTools()...) }

// A studio is a workspace with an episode's recording, its transcript, and what
// the tools have produced so far.
type studio struct {
	*testing.T
	dir  string
	env  *tools.Env
	arts map[string]json.RawMessage
	call int
}

func (s *studio) Value(name string) json.RawMessage { return s.arts[name] }
func (s *studio) Names() []string                   { return nil }

const lines = `WEBVTT

00:00.000 --> 00:03.000
<v Ann>Welcome to the bread show.

00:03.000 --> 00:06.500
<v Ben>Today we talk about {rye} and why it sticks.

00:06.500 --> 00:07.200
<v Ann>It sticks because of its sugar.
`

func newStudio(t *testing.T) *studio {
	t.Helper()
	testenv.NeedsProgram(t, "ffmpeg", "ffprobe", "espeak-ng")
	s := &studio{T: t, dir: t.TempDir(), arts: map[string]json.RawMessage{}}
	led, err := ledger.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = led.Close() })
	files, err := workspace.Open(s.dir, led)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	run := process.New(s.dir, "", led)
	t.Cleanup(func() { _ = run.Close() })
	s.env = &tools.Env{Job: "J0TEST", Files: files, Exec: run, Artifacts: s}
	s.write("ep.mp3", string(speech(t)))
	s.write("ep.vtt", lines)
	s.arts[audioSource] = json.RawMessage(`"ep.mp3"`)
	return s
}

// recorded is the recording that speech has made.
var recorded []byte

// speech is a recording of ten seconds of speech, made once for all tests.
func speech(t *testing.T) []byte {
	t.Helper()
	if recorded == nil {
		s := &studio{T: t, dir: t.TempDir()}
		s.program("espeak-ng", "-w", "speech.wav", "Welcome to the bread show. Today we talk about rye and why it sticks. It sticks because of its sugar.")
		s.program("ffmpeg", "-nostdin", "-v", "error", "-i", "speech.wav", "-af", "apad", "-t", "10", "-c:a", "libmp3lame", "ep.mp3")
		b, err := os.ReadFile(filepath.Join(s.dir, "ep.mp3"))
		if err != nil {
			t.Fatal(err)
		}
		recorded = b
	}
	return recorded
}

func (s *studio) program(name string, args ...string) string {
	s.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func (s *studio) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// use calls a tool and keeps its artifacts.
func (s *studio) use(t tools.Tool, args string) tools.Result {
	s.Helper()
	s.call++
	s.env.Key = fmt.Sprint(s.call)
	return s.repeat(t, args)
}

// repeat is use with the key of the call before, as after a crash.
func (s *studio) repeat(t tools.Tool, args string) tools.Result {
	s.Helper()
	r, err := t.Run(context.Background(), s.env, json.RawMessage(args))
	if err != nil {
		s.Fatalf("%s %s: %v", t.Name, args, err)
	}
	for name, v := range r.Artifacts {
		s.arts[name] = v
	}
	return r
}

func (s *studio) ok(t tools.Tool, args string) string {
	s.Helper()
	r := s.use(t, args)
	if r.Failed {
		s.Fatalf("%s %s: %s", t.Name, args, r.Text)
	}
	return r.Text
}

func (s *studio) fails(t tools.Tool, args, want string) {
	s.Helper()
	if r := s.use(t, args); !r.Failed || !strings.Contains(r.Text, want) {
		s.Errorf("%s %s: %v %s\nwant %q", t.Name, args, r.Failed, r.Text, want)
	}
	s.tidy()
}

// tidy wants nothing to be left of files on their way.
func (s *studio) tidy() {
	s.Helper()
	_ = filepath.WalkDir(s.dir, func(p string, _ os.DirEntry, _ error) error {
		if strings.HasPrefix(filepath.Base(p), ".adroit") {
			s.Errorf("%s is left over", p)
		}
		return nil
	})
}

// TestEpisode makes an episode from a recording.
func TestEpisode(t *testing.T) {
	s := newStudio(t)
	s.ok(processTranscriptTool, `{"path":"ep.vtt"}`)
	if text := s.ok(probeAudioTool, `{}`); !strings.Contains(text, "audio mp3") {
		t.Errorf("probe: %s", text)
	}
	if text := s.ok(readTranscriptTool, `{"from":4}`); strings.Contains(text, "Welcome") || !strings.Contains(text, "[6.5] Ann: It sticks") {
		t.Errorf("read: %s", text)
	}
	s.ok(setShowNotesTool, `{"title":"Rye","summary":"Ann and Ben talk about <rye> and why it sticks.","topics":[{"time":3,"text":"Why it *sticks*"}],"guests":[{"name":"Ben"}],"path":"out/notes.md"}`)
	s.ok(setChaptersTool, `{"chapters":[{"startTime":0,"title":"Welcome = [1]; #\\ \u00e9"},{"startTime":3,"title":"Rye"}],"path":"out/chapters.json"}`)
	if text := s.ok(checkEpisodeTool, `{}`); !strings.Contains(text, "2 chapters lie within the 0:10 of the recording ep.mp3") {
		t.Errorf("check: %s", text)
	}
	s.program("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=1500x1500:d=0.04", "-frames:v", "1", "cover.jpg")
	s.ok(masterTool, `{"out":"ep-chapters.mp3","title":"Rye = \u00e9; #1","artist":"Ann","album":"Bread","track":12,"year":2026,"cover":"cover.jpg"}`)
	read := s.program("ffprobe", "-v", "error", "-show_chapters", "-of", "compact", "ep-chapters.mp3")
	if strings.Count(read, "chapter|") != 2 || !strings.Contains(read, `tag:title=Welcome = [1]; #\\ é`) || !strings.Contains(read, "start_time=3.000000") {
		t.Errorf("ffprobe reads %s", read)
	}
	tags := s.program("ffprobe", "-v", "error", "-show_entries", "format_tags:stream=codec_name,width:stream_disposition=attached_pic", "-of", "default=nw=1", "ep-chapters.mp3")
	for _, want := range []string{"TAG:title=Rye = é; #1\n", "TAG:artist=Ann\n", "TAG:album=Bread\n", "TAG:track=12\n", "TAG:date=2026\n", "codec_name=mjpeg\n", "width=1400\n", "attached_pic=1\n"} {
		if !strings.Contains(tags, want) {
			t.Errorf("ffprobe reads no %q of\n%s", want, tags)
		}
	}
	// Measured by another filter than the tool's.
	measured := s.program("ffmpeg", "-nostdin", "-hide_banner", "-i", "ep-chapters.mp3", "-map", "0:a", "-af", "loudnorm=print_format=summary", "-f", "null", "-")
	if !lazyregexp.New(`Input Integrated: +-1[56]\.\d LUFS\nInput True Peak: +-[1-9]\.\d dBTP`).MatchString(measured) {
		t.Errorf("loudness: %s", measured)
	}
	if text := s.ok(cutClipTool, `{"start":3.5,"end":6,"out":"out/clip.mp3","loudness":true}`); !strings.Contains(text, "3 to 6.5, 3.5 seconds") ||
		!strings.Contains(text, "said: Today we talk") {
		t.Errorf("clip: %s", text)
	}
	if text := s.ok(cutClipTool, `{"start":6.5,"end":7,"out":"out/clip.mp4","audiogram":true}`); !strings.Contains(text, "captions burnt in") {
		t.Errorf("audiogram: %s", text)
	}
	if clips, _ := load[[]audioClip](s.env, clipsName); len(clips) != 2 || !clips[1].Captions {
		t.Errorf("clips: %+v", clips)
	}
	s.ok(feedEntryTool, `{"feed":"feed.xml","url":"https://example.com/ep.mp3","title":"Rye","audio":"ep-chapters.mp3","show":{"title":"Bread","link":"https://example.com","description":"On bread."}}`)
	// At the end all files are listed; one that is gone or outdated does not pass.
	s.ok(saveEpisodeTool, `{"dir":"all"}`)
	text := s.ok(checkEpisodeTool, `{}`)
	for _, want := range []string{"all/notes.md", "all/transcript.vtt", "ep-chapters.mp3 (-1", "out/clip.mp3", "out/clip.mp4", "feed.xml"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not listed:\n%s", want, text)
		}
	}
	s.write("all/notes.md", "changed")
	s.fails(checkEpisodeTool, `{}`, "all/notes.md is not up to date")
	s.ok(saveEpisodeTool, `{"dir":"all"}`)
	if err := os.Remove(filepath.Join(s.dir, "out/clip.mp3")); err != nil {
		t.Fatal(err)
	}
	s.fails(checkEpisodeTool, `{}`, "out/clip.mp3 is gone")
	feedFile := filepath.Join(s.dir, "feed.xml")
	whole, err := os.ReadFile(feedFile)
	if err != nil {
		t.Fatal(err)
	}
	s.write("feed.xml", strings.ReplaceAll(string(whole), "<guid", "<gone"))
	s.fails(checkEpisodeTool, `{}`, "feed.xml or the show notes have changed since the entry was made")
	s.write("feed.xml", string(whole))
	recording, err := os.ReadFile(filepath.Join(s.dir, "ep-chapters.mp3"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("ep-chapters.mp3", string(recording[:1000]))
	s.fails(checkEpisodeTool, `{}`, "ep-chapters.mp3 has 1000 bytes")
	s.write("ep-chapters.mp3", string(recording))
	info, err := os.Stat(filepath.Join(s.dir, "ep-chapters.mp3"))
	if err != nil {
		t.Fatal(err)
	}
	feed, err := os.ReadFile(feedFile)
	if want := fmt.Sprintf(`<enclosure url="https://example.com/ep.mp3" length="%d" type="audio/mpeg"/>`, info.Size()); err != nil || !strings.Contains(string(feed), want) {
		t.Errorf("%v\n%s\nwant %s", err, feed, want)
	}
	s.tidy()
}

// A call that is repeated after a crash finds what it has done, or overwrites
// what it had begun; what others have put there stays.
func TestRepeated(t *testing.T) {
	s := newStudio(t)
	s.write("ep.wav", string(tone(8))) // whose level is found at once
	s.arts[audioSource] = json.RawMessage(`"ep.wav"`)
	s.ok(processTranscriptTool, `{"path":"ep.vtt"}`)
	s.ok(setChaptersTool, `{"chapters":[{"startTime":0,"title":"A"}]}`)
	for _, c := range []struct {
		tool      tools.Tool
		args, out string
	}{
		{cutClipTool, `{"start":3,"end":6.5,"out":"c.mp3"}`, "c.mp3"},
		{cutClipTool, `{"start":3,"end":6.5,"out":"c.m4a"}`, "c.m4a"},
		{masterTool, `{"out":"e.mp3","title":"x"}`, "e.mp3"},
		{masterTool, `{"out":"e.m4a","title":"x","keep_level":true}`, "e.m4a"},
		{feedEntryTool, `{"feed":"f.xml","url":"https://example.com/ep.mp3","title":"x","show":{"title":"Bread","link":"https://example.com","description":"On bread."}}`, "f.xml"},
	} {
		s.ok(c.tool, c.args)
		before, err := os.ReadFile(filepath.Join(s.dir, c.out))
		if err != nil {
			t.Fatal(err)
		}
		s.write(strings.TrimPrefix(scratch(s.env, c.out, filepath.Ext(c.out)), "./"), "half a file")
		if r := s.repeat(c.tool, c.args); r.Failed {
			t.Fatalf("%s again: %s", c.tool.Name, r.Text)
		}
		after, err := os.ReadFile(filepath.Join(s.dir, c.out))
		if err != nil || string(after) != string(before) {
			t.Errorf("%s again: %v, the file is another", c.tool.Name, err)
		}
		_ = os.Remove(filepath.Join(s.dir, scratch(s.env, c.out, ".xml"))) // feed_entry uses none
	}
	s.fails(cutClipTool, `{"start":0,"end":3,"out":"c.mp3"}`, "exists already and holds something else")
	s.ok(cutClipTool, `{"start":0,"end":3,"out":"c.mp3","replace":true}`)
	s.tidy()
}

// Names are names, whatever they look like to ffmpeg.
func TestHostileNames(t *testing.T) {
	s := newStudio(t)
	audio, err := os.ReadFile(filepath.Join(s.dir, "ep.mp3"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"-y", "-i.mp3", "concat:ep.mp3|ep.mp3", "%d.mp3", "a\nb.mp3", "http:x.mp3", "a b'\"$(id);[0:a],.mp3", "pipe:0", "file:x.mp3", "data:x,y"} {
		s.write(name, string(audio))
		q, _ := json.Marshal(name)
		out, _ := json.Marshal(name + fmt.Sprint(i) + ".wav")
		s.arts[audioSource] = q
		s.ok(cutClipTool, fmt.Sprintf(`{"start":0,"end":3,"out":%s}`, out))
	}
	s.tidy()
}

// Files that would have ffmpeg read others, and those that are no recordings,
// are refused; nothing is written outside.
func TestRefusals(t *testing.T) {
	s := newStudio(t)
	s.fails(probeAudioTool, `{"path":"none.mp3"}`, "does not exist")
	s.fails(setChaptersTool, `{"chapters":[]}`, "there are 0 chapters")
	s.write("list.mp3", "ffconcat version 1.0\nfile ep.mp3\n")
	s.write("list.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n")
	s.write("text.mp3", "just text")
	s.write("empty.mp3", "")
	for _, name := range []string{"list.mp3", "list.m3u8", "text.mp3", "empty.mp3"} {
		s.fails(probeAudioTool, `{"path":"`+name+`"}`, "no recording that can be used")
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(s.dir, "link.mp3")); err != nil {
		t.Fatal(err)
	}
	s.fails(probeAudioTool, `{"path":"link.mp3"}`, "outside the workspace")
	s.fails(probeAudioTool, `{"path":"../ep.mp3"}`, `".."`)
	s.fails(probeAudioTool, `{"path":"."}`, "no file")
	s.fails(cutClipTool, `{"start":0,"end":3,"out":"../c.mp3"}`, `".."`)
	s.fails(cutClipTool, `{"start":0,"end":3,"out":".git/c.mp3"}`, "list of secrets")
	s.fails(cutClipTool, `{"start":3,"end":3,"out":"c.mp3"}`, "has no length")
	s.fails(cutClipTool, `{"start":3,"end":99,"out":"c.mp3"}`, "does not lie within")
	s.fails(cutClipTool, `{"start":0,"end":3,"out":"c.exe"}`, "clips are .mp3")
	s.fails(cutClipTool, `{"start":0,"end":3,"out":"c.mp3","shape":"9:16"}`, "are for pictures")
	s.fails(cutClipTool, `{"start":0,"end":3,"out":"c.mp4","cover":"text.mp3"}`, "a cover is .jpg or .png")
	s.fails(cutClipTool, `{"start":0,"end":3,"out":"./ep.mp3","replace":true}`, "recording itself")
	s.fails(masterTool, `{"out":"x.wav","title":"x"}`, "is .mp3 or .m4a")
	s.fails(masterTool, `{"out":"ep.mp3","title":"x"}`, "recording itself")
	s.fails(masterTool, `{"out":"x.mp3","title":"x","cover":"ep.mp3"}`, "a cover is .jpg or .png")
	s.fails(feedEntryTool, `{"feed":"f.xml","url":"https://example.com/a.mp3","title":"x"}`, "describe the show with show")
	s.fails(feedEntryTool, `{"feed":"f.xml","url":"ftp://x","title":"x"}`, "no http")
	s.fails(feedEntryTool, `{"feed":"ep.vtt","url":"https://example.com/a.mp3","title":"x"}`, "ep.vtt")
	s.fails(setShowNotesTool, `{"summary":"Twenty characters are needed.","topics":[{"text":"x"}],"links":[{"title":"x","url":"x"}]}`, "links/0")
	s.fails(readTranscriptTool, `{}`, "process_transcript first")
	delete(s.arts, audioSource)
	s.ok(processTranscriptTool, `{"path":"ep.vtt"}`)
	for args, want := range map[string]string{
		`{"chapters":[{"startTime":1,"title":"x"}]}`:                              "has to begin at 0",
		`{"chapters":[{"startTime":0,"title":"x"},{"startTime":0,"title":"y"}]}`:  "not after the one before",
		`{"chapters":[{"startTime":0,"title":"x"},{"startTime":11,"title":"y"}]}`: "after the end of the episode",
		`{"chapters":[{"startTime":0,"title":"a\nb"}]}`:                           "one line",
		`{"chapters":[{"startTime":0,"title":"x","url":"javascript:1"}]}`:         "no http",
	} {
		s.fails(setChaptersTool, args, want)
	}
	// Chapters of an episode whose recording turns out shorter do not pass.
	s.ok(setChaptersTool, `{"chapters":[{"startTime":0,"title":"x"},{"startTime":7,"title":"y"}]}`)
	s.program("ffmpeg", "-nostdin", "-v", "error", "-i", "ep.mp3", "-t", "5", "short.mp3")
	s.arts[audioSource] = json.RawMessage(`"short.mp3"`)
	s.fails(checkEpisodeTool, `{}`, "after the end of the episode")
}

// Captions show what is said and obey none of it.
func TestHostileCaptions(t *testing.T) {
	s := newStudio(t)
	s.write("bad.vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\n{\\p1}m 0 0 l 9999 9999{\\fs9999} \\N \\h {\\fn../../etc} %{x} 'a':b,c;[d] \\\\ "+strings.Repeat("w", 5000)+"\n")
	s.ok(processTranscriptTool, `{"path":"bad.vtt"}`)
	if text := s.ok(cutClipTool, `{"start":0,"end":1,"out":"c.mp4","audiogram":true}`); !strings.Contains(text, "captions burnt in") {
		t.Error(text)
	}
	s.tidy()
}

func FuzzProbe(f *testing.F) {
	f.Add([]byte(`{"format":{"format_name":"mp3","duration":"10.5","tags":{"title":"x"}},"streams":[{"codec_type":"audio","codec_name":"mp3","sample_rate":"44100"}],"chapters":[{"start_time":"0","end_time":"1e9"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseProbe(b)
		if err == nil && (!transcript.Sane(m.Duration) || m.Codec == "") {
			t.Fatalf("%+v", m)
		}
		_ = m.report()
	})
}

// size is the size of a file in bytes, as text.
func (s *studio) size(name string) string {
	info, err := os.Stat(filepath.Join(s.dir, name))
	if err != nil {
		s.Fatal(err)
	}
	return fmt.Sprint(info.Size())
}

// frame keeps the frame of a clip at a second where PODCAST_FRAMES names a
// directory.
func (s *studio) frame(name, at string) {
	s.Helper()
	if dir := os.Getenv("PODCAST_FRAMES"); dir != "" {
		s.program("ffmpeg", "-v", "error", "-y", "-ss", at, "-i", name, "-frames:v", "1", filepath.Join(dir, strings.TrimSuffix(name, ".mp4")+".png"))
	}
}
