package podcast

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
)

// A speechFake answers as OpenAI's /v1/audio/transcriptions and whisper.cpp's
// /inference do. It takes only what they take.
type speechFake struct {
	*httptest.Server
	key    string
	asked  []string // language of each request
	sizes  []int
	answer func(w http.ResponseWriter, n int) bool // true if it answered
}

func newSpeech(t *testing.T, key string) *speechFake {
	f := &speechFake{key: key}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *speechFake) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	refuse := func(code int, text string) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, text)
	}
	openai := r.URL.Path == "/v1/audio/transcriptions"
	if r.Method != http.MethodPost || !openai && r.URL.Path != "/inference" {
		http.NotFound(w, r)
		return
	}
	if f.key != "" && r.Header.Get("Authorization") != "Bearer "+f.key {
		refuse(401, "Incorrect API key provided: "+r.Header.Get("Authorization"))
		return
	}
	if err := r.ParseMultipartForm(64 << 20); err != nil {
		refuse(400, err.Error())
		return
	}
	file, head, err := r.FormFile("file")
	if err != nil || openai && r.FormValue("model") != "whisper-1" || r.FormValue("response_format") != "verbose_json" {
		refuse(400, "file, model and response_format are needed")
		return
	}
	b, _ := io.ReadAll(file)
	switch {
	case openai && (!strings.HasSuffix(head.Filename, ".mp3") || !bytes.HasPrefix(b, []byte{0xff, 0xf3}) && !bytes.HasPrefix(b, []byte("ID3"))):
		refuse(400, "Invalid file format.")
		return
	case !openai && (len(b) < 44 || string(b[:4]) != "RIFF" || binary.LittleEndian.Uint32(b[4:]) != uint32(len(b)-8) || string(b[36:40]) != "data" ||
		binary.LittleEndian.Uint32(b[40:]) != uint32(len(b)-44) || binary.LittleEndian.Uint32(b[24:]) != 16000 || binary.LittleEndian.Uint16(b[22:]) != 1):
		w.WriteHeader(400)
		fmt.Fprint(w, `{"error":"failed to read audio data"}`)
		return
	}
	f.asked, f.sizes = append(f.asked, r.FormValue("language")), append(f.sizes, len(b))
	if f.answer != nil && f.answer(w, len(f.asked)) {
		return
	}
	fmt.Fprint(w, `{"task":"transcribe","language":"english","duration":10.0,"text":" Welcome to the bread show. It sticks.","segments":[
		{"id":0,"seek":0,"start":0.0,"end":3.0,"text":" Welcome to the bread show.","tokens":[1],"temperature":0.0,"avg_logprob":-0.2,"compression_ratio":1.1,"no_speech_prob":0.01},
		{"id":1,"seek":0,"start":3.0,"end":6.52,"text":" It sticks.","tokens":[2],"temperature":0.0,"avg_logprob":-0.2,"compression_ratio":1.1,"no_speech_prob":0.01}]}`)
}

func TestTranscribe(t *testing.T) {
	s := newStudio(t)
	s.env.HTTP = http.DefaultClient
	getenv := func(name string) string { return map[string]string{"KEY": "sk-1"}[name] }
	f := newSpeech(t, "sk-1")
	for name, c := range map[string]Transcription{
		"OpenAI":      {URL: f.URL + "/v1", KeyEnv: "KEY"},
		"whisper.cpp": {URL: f.URL, Server: "whisper.cpp", KeyEnv: "KEY"},
	} {
		f.asked = nil
		tool := transcribeTool(Config{Transcription: c, Getenv: getenv})
		if text := s.ok(tool, `{"language":"en-GB"}`); !strings.Contains(text, "0:10 transcribed: 2 cues, 1 parts sent to 127.0.0.1") {
			t.Errorf("%s: %s", name, text)
		}
		if !reflect.DeepEqual(f.asked, []string{"en"}) {
			t.Errorf("%s was asked in %q", name, f.asked)
		}
		if text := s.ok(processTranscriptTool, `{}`); !strings.Contains(text, "[0] Welcome to the bread show. It sticks.") {
			t.Errorf("%s: %s", name, text)
		}
	}
	s.write("ep.wav", string(tone(1)))
	s.arts[audioSource] = json.RawMessage(`"ep.wav"`)
	// Errors say who has to do what, and repeat no key.
	for _, c := range []struct {
		set    Transcription
		answer func(w http.ResponseWriter, n int) bool
		want   string
	}{
		{Transcription{}, nil, "no server for speech to text is configured"},
		{Transcription{URL: f.URL + "/v1", KeyEnv: "OTHER"}, nil, "OTHER is not set"},
		{Transcription{URL: f.URL + "/v1"}, nil, "401 Unauthorized (Incorrect API key provided:)"},
		{Transcription{URL: f.URL, KeyEnv: "KEY"}, nil, "404 Not Found"},
		{Transcription{URL: f.URL + "/v1", KeyEnv: "KEY", Model: "x"}, nil, "400 Bad Request (file, model"},
		{Transcription{URL: "http://127.0.0.1:1", KeyEnv: "KEY"}, nil, "127.0.0.1:1: "},
		{Transcription{URL: f.URL + "/v1", KeyEnv: "KEY", Timeout: 50 * time.Millisecond}, func(http.ResponseWriter, int) bool { time.Sleep(300 * time.Millisecond); return true }, "did not answer within 50ms"},
		{Transcription{URL: f.URL + "/v1", KeyEnv: "KEY"}, func(w http.ResponseWriter, _ int) bool { fmt.Fprint(w, `{"text":"Hello."}`); return true }, "text without times"},
		{Transcription{URL: f.URL + "/v1", KeyEnv: "KEY"}, func(w http.ResponseWriter, _ int) bool { fmt.Fprint(w, `<html>hello`); return true }, "did not answer with JSON: <html>hello"},
		{Transcription{URL: f.URL + "/v1", KeyEnv: "KEY"}, func(w http.ResponseWriter, _ int) bool {
			fmt.Fprint(w, strings.Repeat(" ", maxSpeech+2))
			return true
		}, "has more than"},
		{Transcription{URL: f.URL + "/v1", KeyEnv: "KEY"}, func(w http.ResponseWriter, _ int) bool { fmt.Fprint(w, `{"text":"","segments":[]}`); return true }, "no speech that the server understood"},
		{Transcription{URL: f.URL + "/v1", KeyEnv: "KEY"}, func(w http.ResponseWriter, _ int) bool { w.WriteHeader(503); return true }, "503 Service Unavailable"},
	} {
		f.answer = c.answer
		s.fails(transcribeTool(Config{Transcription: c.set, Getenv: getenv}), `{}`, c.want)
	}
	// A server that is busy for a moment is asked again.
	f.asked = nil
	f.answer = func(w http.ResponseWriter, n int) bool {
		if n == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
		}
		return n == 1
	}
	s.ok(transcribeTool(Config{Transcription: Transcription{URL: f.URL + "/v1", KeyEnv: "KEY"}, Getenv: getenv}), `{}`)
	if len(f.asked) != 2 {
		t.Errorf("asked %d times", len(f.asked))
	}
}

// tone is a recording of so many seconds of sound, silence, sound and so on.
func tone(seconds ...int) []byte {
	const rate = 8000
	var sound []byte
	for i, n := range seconds {
		period := []byte{128}
		if i%2 == 0 {
			period = append(bytes.Repeat([]byte{96}, 10), bytes.Repeat([]byte{160}, 10)...)
		}
		sound = append(sound, bytes.Repeat(period, n*rate/len(period))...)
	}
	b := []byte("RIFF")
	b = binary.LittleEndian.AppendUint32(b, uint32(36+len(sound)))
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...) // PCM of one channel
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = append(b, "\x01\x00\x08\x00data"...) // eight bits
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(sound))), sound...)
}

// A long recording is sent in parts that end in silences, and times go on.
func TestTranscribeParts(t *testing.T) {
	s := newStudio(t)
	s.env.HTTP = http.DefaultClient
	s.write("long.wav", string(tone(540, 10, 110)))
	f := newSpeech(t, "")
	s.ok(transcribeTool(Config{Transcription: Transcription{URL: f.URL + "/v1"}, Getenv: os.Getenv}), `{"path":"long.wav"}`)
	if len(f.sizes) != 2 || f.sizes[0] < 3*f.sizes[1] || f.sizes[0] > maxUpload {
		t.Errorf("parts of %d bytes", f.sizes)
	}
	s.ok(processTranscriptTool, `{}`)
	got, _ := load[transcript.Transcript](s.env, transcriptName)
	if len(got.Cues) != 4 || got.Cues[2].Start < 540 || got.Cues[2].Start > 550 {
		t.Errorf("%+v", got.Cues)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "out.vtt"), []byte(got.VTT()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Parts of a call that failed are not sent again by the next one of the same
// job, another language or another job has parts of its own, and a kept part
// that is broken counts for nothing.
func TestTranscribeKeepsParts(t *testing.T) {
	s := newStudio(t)
	s.env.HTTP, s.env.Job = http.DefaultClient, "J1"
	s.write("long.wav", string(tone(100, 1, 501)))
	f := newSpeech(t, "")
	jobs := t.TempDir()
	if err := os.Mkdir(filepath.Join(jobs, "J1"), 0o700); err != nil {
		t.Fatal(err)
	}
	tool := transcribeTool(Config{Transcription: Transcription{URL: f.URL, Server: "whisper.cpp"}, Getenv: os.Getenv, Jobs: jobs})
	f.answer = func(w http.ResponseWriter, n int) bool {
		if n == 3 {
			w.WriteHeader(400)
		}
		return n == 3
	}
	s.fails(tool, `{"path":"long.wav"}`, "10:00 to 10:02 of long.wav was not transcribed")
	for _, c := range []struct {
		job, args string
		want      int // requests
	}{{"J1", `{"path":"long.wav"}`, 1}, {"J1", `{"path":"long.wav","language":"de"}`, 3}, {"../J1", `{"path":"long.wav"}`, 3}} {
		s.env.Job, f.asked, f.answer = c.job, nil, nil
		text := s.ok(tool, c.args)
		if len(f.asked) != c.want || !strings.Contains(text, fmt.Sprintf("%d parts sent", c.want)) {
			t.Errorf("%s %s: %d requests, want %d: %s", c.job, c.args, len(f.asked), c.want, text)
		}
	}
	kept, err := filepath.Glob(filepath.Join(jobs, "J1", "transcribed", "*"))
	if err != nil || len(kept) != 6 {
		t.Fatalf("%d parts are kept: %v", len(kept), err)
	}
	for _, name := range kept {
		if err := os.WriteFile(name, []byte("[{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.env.Job, f.asked = "J1", nil
	if s.ok(tool, `{"path":"long.wav"}`); len(f.asked) != 3 {
		t.Errorf("%d requests", len(f.asked))
	}
}

func TestDivide(t *testing.T) {
	for _, c := range []struct {
		long     float64
		silences []float64
		want     []float64
	}{
		{50, nil, []float64{0, 50}},
		{250, nil, []float64{0, 100, 200, 250}},
		{250, []float64{10, 85, 95, 130, 185, 249}, []float64{0, 95, 185, 250}},
		{200.07, nil, []float64{0, 100, 200.07}},
		{250, []float64{-1, 1e9}, []float64{0, 100, 200, 250}},
	} {
		if got := divide(c.long, 100, c.silences); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v %v: %v, want %v", c.long, c.silences, got, c.want)
		}
	}
}

// What a program writes is kept up to a bound, however it is copied.
func TestLimited(t *testing.T) {
	l := limited{most: 10}
	if n, err := io.Copy(&l, strings.NewReader(strings.Repeat("x", 100))); err != nil || n != 100 || l.kept.Len() != 10 || !l.over {
		t.Errorf("%d bytes copied, %d kept, over %v: %v", n, l.kept.Len(), l.over, err)
	}
}
