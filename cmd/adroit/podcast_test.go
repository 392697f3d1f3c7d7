package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mmcdole/gofeed"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// rawTranscript is an export of a recording tool: numbers for speakers, fillers.
const rawTranscript = `WEBVTT

00:00.000 --> 00:03.200
<v SPEAKER_00>Um, welcome to the bread show, episode twelve.

00:03.200 --> 00:07.000
<v SPEAKER_01>Today we, uh, talk about rye, and why it sticks.

00:07.000 --> 00:11.000
<v SPEAKER_00>Ninety percent of it is water and sugar.
`

// firstEpisode is made of a recording and its transcript, with all that a show
// publishes.
const firstEpisode = `turns:
  - expect: {contains: All files go into the folder episodes/12}
    calls:
      - {name: process_transcript, args: {drop_fillers: en, names: [{label: SPEAKER_00, name: Ann}, {label: SPEAKER_01, name: Ben}]}}
      - {name: probe_audio, args: {}}
      - {name: rss_feed, args: {feed: show}}
      - {name: static_links, args: {}}
  - expect: {contains: "Sourdough, for real"}
    calls:
      - name: set_show_notes
        args:
          title: Why rye sticks
          summary: "Ann and Ben talk about rye. It is 90 percent water and sugar, and 7 of 10 bakers know."
          topics: [{time: 0, text: Welcome}, {time: 3.2, text: Why rye sticks}]
          guests: [{name: Ben}]
          links: [{title: "Episode 11: Sourdough, for real", url: "https://bread.example/11"}, {title: Our recipes, url: "https://bread.example/recipes"}]
      - {name: set_chapters, args: {chapters: [{startTime: 0, title: Welcome}, {startTime: 3.2, title: Why rye sticks}]}}
  - expect: {contains: "so marked as unverified: 7; 10"}
    calls: [{name: master_audio, args: {out: episodes/12/why-rye-sticks.mp3, title: Why rye sticks, artist: Ann Lee, album: The Bread Show, track: 12, year: 2026, cover: cover.jpg}}]
  - calls:
      - {name: cut_clip, args: {start: 3.4, end: 6, out: episodes/12/wide.mp4, title: Why rye sticks, cover: cover.jpg, loudness: true}}
      - {name: cut_clip, args: {start: 3.4, end: 6, out: episodes/12/tall.mp4, shape: "9:16", title: Why rye sticks, cover: cover.jpg, loudness: true}}
      - {name: cut_clip, args: {start: 3.4, end: 6, out: episodes/12/square.mp4, shape: "1:1", title: Why rye sticks, cover: cover.jpg, loudness: true}}
      - name: feed_entry
        args:
          feed: feed.xml
          url: https://bread.example/audio/why-rye-sticks.mp3
          title: Why rye sticks
          episode: 12
          date: "2026-05-01T06:00:00Z"
          link: https://bread.example/12
          chapters_url: https://bread.example/12/chapters.json
          transcript_url: https://bread.example/12/transcript.vtt
          show: {title: The Bread Show, link: "https://bread.example", description: On bread., feed_url: "https://bread.example/feed.xml", author: Ann Lee, email: ann@bread.example, image: "https://bread.example/cover.jpg", category: Arts > Food}
      - {name: generate_social_posts, args: {networks: [mastodon, bluesky], url: "https://bread.example/12"}}
  - expect: {contains: It has all that Apple Podcasts and Spotify require.}
    calls: [{name: save_episode, args: {dir: episodes/12}}]
  - calls: [{name: finish, args: {summary: The episode is ready.}}]
asides:
  - {expect: {contains: Announce the podcast episode}, text: '{"posts":[{"network":"bluesky","text":"Why rye sticks. https://bread.example/12"},{"network":"mastodon","text":"Why rye sticks, explained. https://bread.example/12"}]}'}
`

// secondEpisode is made of a recording alone.
const secondEpisode = `turns:
  - expect: {contains: Call transcribe_audio}
    calls: [{name: transcribe_audio, args: {language: de}}]
  - expect: {contains: 1 parts sent to}
    calls: [{name: process_transcript, args: {names: [{label: "", name: Anna}]}}]
  - expect: {contains: "Anna: Willkommen zur Brotsendung."}
    calls:
      - {name: set_show_notes, args: {title: Roggen, summary: Anna begrüßt zur Brotsendung und spricht über Roggen., topics: [{time: 0, text: Roggen}], links: [{title: Alle Folgen, url: "URL/feed"}]}}
      - {name: set_chapters, args: {chapters: [{startTime: 0, title: Begrüßung}]}}
  - calls: [{name: link_check, args: {artifact: show_notes}}]
  - expect: {contains: "1 link checked: 1 good, 0 broken"}
    calls: [{name: master_audio, args: {out: episodes/13/roggen.m4a, title: Roggen, artist: Anna}}]
  - calls:
      - {name: feed_entry, args: {feed: feed.xml, url: "https://bread.example/audio/roggen.m4a", title: Roggen, episode: 13, date: "2026-05-08T06:00:00Z"}}
      - {name: save_episode, args: {dir: episodes/13}}
  - calls: [{name: finish, args: {summary: Die Folge ist fertig.}}]
`

// whisper answers as whisper.cpp's server does, which takes only WAV of 16 kHz.
func whisper(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	file, _, err := r.FormFile("file")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"no 'file' field in the request"}`)
		return
	}
	b, err := io.ReadAll(file)
	if err != nil || len(b) < 44 || string(b[8:12]) != "WAVE" || binary.LittleEndian.Uint32(b[24:]) != 16000 || binary.LittleEndian.Uint32(b[40:]) != uint32(len(b)-44) || r.FormValue("language") != "de" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"failed to read audio data"}`)
		return
	}
	fmt.Fprint(w, `{"task":"transcribe","language":"german","duration":5.0,"text":" Willkommen zur Brotsendung.\n Heute geht es um Roggen.\n","segments":[
		{"id":0,"text":" Willkommen zur Brotsendung.","start":0.0,"end":2.1,"tokens":[50364],"words":[],"temperature":0.0,"avg_logprob":-0.3,"no_speech_prob":0.02},
		{"id":1,"text":" Heute geht es um Roggen.","start":2.1,"end":4.4,"tokens":[50464],"words":[],"temperature":0.0,"avg_logprob":-0.3,"no_speech_prob":0.02}]}`)
}

// TestPodcastEpisodes makes two episodes of a show by the command line, and
// reads what was made with other programs.
func TestPodcastEpisodes(t *testing.T) {
	testenv.NeedsProgram(t, "ffmpeg", "ffprobe", "espeak-ng", "xmllint")
	t.Parallel()
	u := listen(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/feed":
			fmt.Fprint(w, `<rss version="2.0"><channel><title>The Bread Show</title><item><title>Episode 11: Sourdough, for real</title><link>https://bread.example/11</link><pubDate>Fri, 24 Apr 2026 06:00:00 GMT</pubDate></item></channel></rss>`)
		case "/inference":
			whisper(w, r)
		default:
			http.NotFound(w, r)
		}
	})
	p := newPlace(t, map[string]string{
		"one.yaml": firstEpisode, "two.yaml": strings.ReplaceAll(secondEpisode, "URL", u.String()), "raw.vtt": rawTranscript,
		"home/.config/adroit/config.yaml": fmt.Sprintf("network: {allow: [%q]}\nresearch:\n  feeds: {show: %s/feed}\n  links: {recipes: \"https://bread.example/recipes\"}\ntranscription: {server: whisper.cpp, url: %s}\n", u.Host, u, u),
	})
	repo := p.path("repo")
	tool := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = repo
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	tool("espeak-ng", "-w", "../a.wav", "Um, welcome to the bread show, episode twelve. Today we, uh, talk about rye, and why it sticks. Ninety percent of it is water and sugar.")
	tool("ffmpeg", "-v", "error", "-i", "../a.wav", "-af", "apad", "-t", "12", "-b:a", "96k", "a.mp3")
	tool("espeak-ng", "-v", "de", "-w", "../b.wav", "Willkommen zur Brotsendung. Heute geht es um Roggen.")
	tool("ffmpeg", "-v", "error", "-i", "../b.wav", "-af", "apad", "-t", "5", "-b:a", "96k", "b.mp3")
	tool("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=c=0xb5651d:s=1400x1400:d=0.04", "-frames:v", "1", "cover.jpg")

	code, out := p.run("run", "podcast", "-i", "transcript=@../raw.vtt", "-i", "audio=a.mp3", "-i", "folder=episodes/12", "-i", "broken_links=allow", "-m", "script:../one.yaml")
	if code != 0 {
		t.Fatalf("first episode: exit code %d\n%s", code, out)
	}
	if !strings.Contains(out, "2 broken: https://bread.example/11: ") {
		t.Errorf("the links of the notes are not checked:\n%s", out)
	}
	if want := regexp.MustCompile(`episodes/12/: notes.md, chapters.json, transcript.vtt .srt .json .md, social.md, why-rye-sticks.mp3 \(-1[567]\.\d LUFS\), wide.mp4, tall.mp4, square.mp4; feed.xml`); !want.MatchString(out) {
		t.Errorf("the files are not shown at the end:\n%s", out)
	}
	if code, out = p.run("run", "podcast", "-i", "audio=b.mp3", "-i", "folder=episodes/13", "-m", "script:../two.yaml"); code != 0 {
		t.Fatalf("second episode: exit code %d\n%s", code, out)
	}
	readEpisodes(t, p, tool)
	readFeed(t, p, tool)
}

// readEpisodes reads the files of both episodes.
func readEpisodes(t *testing.T, p *place, tool func(name string, args ...string) string) {
	for name, wants := range map[string][]string{
		"episodes/12/notes.md":        {"It is 90 percent water and sugar, and 7 (unverified) of 10 (unverified) bakers know.", "[Our recipes](<https://bread.example/recipes>)"},
		"episodes/12/transcript.vtt":  {"<v Ann>Welcome to the bread show, episode twelve.", "<v Ben>Today we, talk about rye"},
		"episodes/12/transcript.srt":  {"Ben: Today we, talk"},
		"episodes/12/transcript.json": {`"speaker": "Ann"`, `"startTime": 3.2`},
		"episodes/12/transcript.md":   {"**Ben** (0:03)"},
		"episodes/12/social.md":       {"## bluesky", "https://bread.example/12"},
		"episodes/13/transcript.vtt":  {"<v Anna>Willkommen zur Brotsendung."},
	} {
		for _, want := range wants {
			if text := p.read("repo/" + name); !strings.Contains(text, want) {
				t.Errorf("%s has no %q:\n%s", name, want, text)
			}
		}
	}
	for _, c := range []struct{ name, show, want string }{
		{"episodes/12/why-rye-sticks.mp3", "format_tags", `(?s)title=Why rye sticks\n.*artist=Ann Lee\n.*album=The Bread Show\n.*track=12\n.*date=2026`},
		{"episodes/12/why-rye-sticks.mp3", "chapter_tags:chapter=start_time", `(?s)start_time=0.000000\n.*title=Welcome\n.*start_time=3.200000\n.*title=Why rye sticks`},
		{"episodes/12/why-rye-sticks.mp3", "stream=codec_name:stream_disposition=attached_pic", `(?s)codec_name=mp3.*codec_name=mjpeg\n.*attached_pic=1`},
		{"episodes/13/roggen.m4a", "format_tags=title,artist:chapter_tags", `(?s)title=Begrüßung.*title=Roggen\n.*artist=Anna`},
		{"episodes/12/wide.mp4", "stream=codec_name,width,height", `(?s)h264.*width=1280\nheight=720.*aac`},
		{"episodes/12/tall.mp4", "stream=codec_name,width,height", `(?s)h264.*width=1080\nheight=1920.*aac`},
		{"episodes/12/square.mp4", "stream=codec_name,width,height", `(?s)h264.*width=1080\nheight=1080.*aac`},
		{"episodes/12/transcript.vtt", "stream=codec_name", `webvtt`},
		{"episodes/12/transcript.srt", "stream=codec_name", `subrip`},
	} {
		if got := tool("ffprobe", "-v", "error", "-show_entries", c.show, "-of", "default=noprint_wrappers=0", c.name); !regexp.MustCompile(c.want).MatchString(strings.ReplaceAll(got, "TAG:", "")) {
			t.Errorf("ffprobe reads of %s:\n%s\nwant %s", c.name, got, c.want)
		}
	}
	for _, name := range []string{"episodes/12/why-rye-sticks.mp3", "episodes/13/roggen.m4a"} {
		got := tool("ffmpeg", "-nostdin", "-hide_banner", "-i", name, "-map", "0:a", "-af", "loudnorm=print_format=summary", "-f", "null", "-")
		if !regexp.MustCompile(`Input Integrated: +-1(5\.[0-9]|6\.[0-9]|7\.0) LUFS`).MatchString(got) {
			t.Errorf("loudness of %s: %s", name, got)
		}
	}
}

// readFeed reads the feed with a parser of feeds and with xmllint.
func readFeed(t *testing.T, p *place, tool func(name string, args ...string) string) {
	feed, err := gofeed.NewParser().ParseString(p.read("repo/feed.xml"))
	if err != nil {
		t.Fatal(err)
	}
	it := feed.ITunesExt
	if feed.Title != "The Bread Show" || feed.Language != "en" || it == nil || it.Author != "Ann Lee" || it.Owner == nil || it.Owner.Email != "ann@bread.example" ||
		it.Image != "https://bread.example/cover.jpg" || it.Explicit != "false" || len(it.Categories) != 1 || it.Categories[0].Text != "Arts" || it.Categories[0].Subcategory.Text != "Food" {
		t.Errorf("the channel reads as %+v %+v", feed, it)
	}
	if len(feed.Items) != 2 || feed.Items[0].Title != "Roggen" {
		t.Fatalf("the feed reads as %v", feed)
	}
	for i, want := range []struct{ file, kind, date, duration string }{
		{"episodes/13/roggen.m4a", "audio/x-m4a", "2026-05-08", "5"}, {"episodes/12/why-rye-sticks.mp3", "audio/mpeg", "2026-05-01", "12"},
	} {
		info, err := os.Stat(filepath.Join(p.path("repo"), want.file))
		if err != nil {
			t.Fatal(err)
		}
		item := feed.Items[i]
		if len(item.Enclosures) != 1 || item.Enclosures[0].Length != fmt.Sprint(info.Size()) || item.Enclosures[0].Type != want.kind || item.GUID == "" ||
			item.PublishedParsed == nil || item.PublishedParsed.Format("2006-01-02") != want.date || item.ITunesExt == nil || item.ITunesExt.Duration != want.duration {
			t.Errorf("episode %d reads as %+v", i, item)
		}
	}
	tool("xmllint", "--noout", "feed.xml")
	const xpath = `string(/rss/channel/item[2]/*[namespace-uri()="https://podcastindex.org/namespace/1.0" and local-name()="transcript"]/@url)`
	if got := strings.TrimSpace(tool("xmllint", "--xpath", xpath, "feed.xml")); got != "https://bread.example/12/transcript.vtt" {
		t.Errorf("xmllint reads %q", got)
	}
}
