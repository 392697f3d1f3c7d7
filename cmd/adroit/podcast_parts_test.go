package main

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// transcribed is an episode of a recording without a transcript.
const transcribed = `turns:
  - calls: [{name: transcribe_audio, args: {language: de}}]
  - expect: {contains: "2 parts sent to"}
    calls: [{name: process_transcript, args: {}}]
  - expect: {contains: "Willkommen zur Brotsendung."}
    calls:
      - {name: set_show_notes, args: {title: Roggen, summary: Es geht um Roggen und was aus ihm wird., topics: [{time: 0, text: Roggen}]}}
      - {name: set_chapters, args: {chapters: [{startTime: 0, title: Roggen}]}}
      - {name: save_episode, args: {dir: out}}
  - calls: [{name: finish, args: {summary: Fertig.}}]
`

// TestTranscriptionSurvivesKill kills the program by SIGKILL while the second of
// three parts is transcribed. The job that goes on sends the second and the
// third, and not the first again.
func TestTranscriptionSurvivesKill(t *testing.T) {
	testenv.NeedsProgram(t, "ffmpeg", "ffprobe")
	t.Parallel()
	var mu sync.Mutex
	var sizes []int64
	var running *exec.Cmd
	u := listen(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sizes = append(sizes, r.ContentLength)
		if len(sizes) == 2 {
			if err := running.Process.Kill(); err != nil {
				t.Error(err)
			}
			_, _ = io.Copy(io.Discard, r.Body) // or nobody notices that the client is gone
			<-r.Context().Done()
			return
		}
		whisper(w, r)
	})
	p := newPlace(t, map[string]string{
		"turns.yaml":                      transcribed,
		"home/.config/adroit/config.yaml": fmt.Sprintf("network: {allow: [%q]}\ntranscription: {server: whisper.cpp, url: %s}\n", u.Host, u),
	})
	// Parts of different lengths, to tell them apart.
	cmd := exec.Command("ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "sine=frequency=300:duration=270:sample_rate=8000", "-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono:d=10",
		"-f", "lavfi", "-i", "sine=frequency=300:duration=370:sample_rate=8000", "-filter_complex", "[0][1][2]concat=n=3:v=0:a=1", "-b:a", "16k", "a.mp3")
	cmd.Dir = p.path("repo")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	first, out := p.command("run", "podcast", "-i", "audio=a.mp3", "-m", "script:../turns.yaml")
	mu.Lock()
	running = first
	err := first.Start()
	mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if code := ended(t, first.Wait()); code != -int(syscall.SIGKILL) {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	code, text := p.run("continue", "last")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	if len(sizes) != 4 || sizes[0] == sizes[1] || sizes[2] != sizes[1] || sizes[3] >= sizes[2] {
		t.Errorf("requests of %d bytes: the first part once, the second twice, the third once", sizes)
	}
	if text := p.read("repo/out/transcript.vtt"); strings.Count(text, "Willkommen zur Brotsendung.") != 3 {
		t.Errorf("the transcript is\n%s", text)
	}
}
