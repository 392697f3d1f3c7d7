package main

import (
	"os/exec"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// comparedEpisode is an episode as the agent makes it. The fixed phases take
// the answers below asides only. What it takes of tokens is made up.
const comparedEpisode = `turns:
  - calls: [{name: process_transcript, args: {}}, {name: probe_audio, args: {}}]
    usage: {in: 3300, out: 40}
  - expect: {contains: Ninety percent of it is water}
    calls:
      - {name: set_show_notes, args: {title: Why rye sticks, summary: Ann and Ben talk about rye and why it sticks., topics: [{time: 0, text: Welcome}, {time: 3.2, text: Why rye sticks}]}}
      - {name: set_chapters, args: {chapters: [{startTime: 0, title: Welcome}, {startTime: 3.2, title: Why rye sticks}]}}
    usage: {in: 3700, out: 120}
  - calls: [{name: master_audio, args: {out: episode/episode.mp3, title: Why rye sticks}}, {name: generate_social_posts, args: {networks: [mastodon, x]}}]
    usage: {in: 4000, out: 60}
  - calls: [{name: save_episode, args: {dir: episode}}]
    usage: {in: 4200, out: 20}
  - calls: [{name: finish, args: {summary: The episode is ready.}}]
    usage: {in: 4300, out: 20}
asides:
  - {expect: {contains: Announce the podcast episode}, text: '{"posts":[{"network":"mastodon","text":"Why rye sticks, explained."},{"network":"x","text":"Why rye sticks."}]}', usage: {in: 350, out: 40}}
  - {expect: {contains: Ninety percent of it is water}, text: '{"title":"Why rye sticks","summary":"Ann and Ben talk about rye and why it sticks.","topics":[{"time":0,"text":"Welcome"},{"time":3.2,"text":"Why rye sticks"}],"links":[],"guests":[]}', usage: {in: 420, out: 110}}
`

// TestComparePodcast runs the podcast agent and its fixed phases on one recording with
// its transcript, and compares the results with docs/dev/measurements.md.
func TestComparePodcast(t *testing.T) {
	testenv.NeedsProgram(t, "ffmpeg", "ffprobe", "espeak-ng")
	t.Parallel()
	p := newPlace(t, map[string]string{"turns.yaml": comparedEpisode, "raw.vtt": rawTranscript})
	for _, args := range [][]string{
		{"espeak-ng", "-w", "../a.wav", "Um, welcome to the bread show, episode twelve. Today we, uh, talk about rye, and why it sticks. Ninety percent of it is water and sugar."},
		{"ffmpeg", "-nostdin", "-v", "error", "-i", "../a.wav", "-af", "apad", "-t", "12", "-b:a", "96k", "a.mp3"},
		{"git", "init", "-q"},
		{"git", "add", "a.mp3"},
		{"git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "recording"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = p.path("repo")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	table := compareHead + compared(t, p, "one recording", "episode_files", "podcast", "podcast_phases", "Make the episode", "-i", "transcript=@../raw.vtt", "-i", "audio=a.mp3", "-m", "script:../turns.yaml", "--worktree")
	tableIn(t, "../../docs/dev/measurements.md", "TestComparePodcast", table)
}
