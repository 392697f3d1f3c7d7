package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// episode is a job that uses every tool that writes. What ffmpeg makes of the
// same input is the same.
const episode = `turns:
  - calls:
      - {name: process_transcript, args: {}}
      - {name: set_show_notes, args: {summary: "Ann and Ben talk about rye and why it sticks.", topics: [{time: 3, text: Rye}], path: notes.md}}
      - {name: set_chapters, args: {chapters: [{startTime: 0, title: Welcome}, {startTime: 3, title: Rye}], path: chapters.json}}
  - calls:
      - {name: master_audio, args: {out: ep-chapters.mp3, title: Rye, artist: Ann, keep_level: true}}
      - {name: cut_clip, args: {start: 3.5, end: 6, out: clips/rye.wav}}
      - {name: feed_entry, args: {feed: feed.xml, url: "https://example.com/ep.mp3", title: Rye, date: "2026-05-01", show: {title: Bread, link: "https://example.com", description: On bread.}}}
  - calls: [{name: save_episode, args: {dir: saved}}]
  - calls: [{name: finish, args: {summary: The episode is ready.}}]
`

const webVTT = `WEBVTT

00:00.000 --> 00:03.000
<v Ann>Welcome to the bread show.

00:03.000 --> 00:06.500
<v Ben>Today we talk about rye and why it sticks.
`

// TestPodcastSurvivesKill kills the runner at each point of each step (a sample
// of them: see points) of a job that makes an episode with a real ffmpeg, resumes
// it in a new process, and wants the same files to the byte as without the kill:
// nothing twice, nothing half, nothing in doubt.
func TestPodcastSurvivesKill(t *testing.T) {
	testenv.Long(t, "starts some two hundred processes")
	testenv.NeedsProgram(t, "ffmpeg", "ffprobe", "espeak-ng")
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"espeak-ng", "-w", "speech.wav", "Welcome to the bread show. Today we talk about rye and why it sticks."},
		{"ffmpeg", "-nostdin", "-v", "error", "-i", "speech.wav", "-af", "apad", "-t", "8", "-c:a", "libmp3lame", "ep.mp3"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, out)
		}
	}
	audio, err := os.ReadFile(filepath.Join(dir, "ep.mp3"))
	if err != nil {
		t.Fatal(err)
	}
	k := killing{every: 9, least: 40, files: map[string]string{"turns.yaml": episode, "ep.vtt": webVTT, "repo/ep.mp3": string(audio)},
		args: []string{"run", "podcast", "-i", "transcript=@../ep.vtt", "-i", "audio=ep.mp3", "-m", "script:../turns.yaml"}}
	whole := newPlace(t, k.files)
	whole.ok(0, k.args...)
	want := whole.end()
	if len(want.tree) != 12 {
		t.Fatalf("without a kill there are %d files: %v", len(want.tree), want.artifacts)
	}
	k.test(t, func(p *place, at, out string) {
		if strings.Contains(out, "may or may not have happened") {
			t.Errorf("%s: something is in doubt\n%s", at, out)
		}
		got := p.end()
		for _, line := range got.differences(want) {
			t.Errorf("%s: %s", at, line)
		}
		for name := range want.tree {
			if got.tree[name] != want.tree[name] {
				t.Errorf("%s: %s is another (%d bytes, want %d)", at, name, len(got.tree[name]), len(want.tree[name]))
			}
		}
		if len(got.tree) != len(want.tree) {
			t.Errorf("%s: %d files, want %d", at, len(got.tree), len(want.tree))
		}
		if code, out := p.run("jobs", "undo", "last"); code != 0 {
			t.Errorf("%s: undo: exit code %d\n%s", at, code, out)
		}
		if left := p.tree(); len(left) != 1 || left["ep.mp3"] != string(audio) {
			t.Errorf("%s: after undo there are %d files", at, len(left))
		}
	})
}
