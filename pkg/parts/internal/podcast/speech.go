package podcast

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/host/doctor"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Transcription is the server that turns speech into text.
type Transcription struct {
	// Server is the wire: openai (the default) for servers with
	// /audio/transcriptions, whisper.cpp for its server with /inference.
	Server  string        `yaml:"server"`
	URL     string        `yaml:"url"`     // for example https://api.openai.com/v1 or http://127.0.0.1:8080
	Model   string        `yaml:"model"`   // of openai; default whisper-1
	KeyEnv  string        `yaml:"key_env"` // the variable that holds the key
	Timeout time.Duration `yaml:"timeout"` // of one part; default ten minutes
}

// SpeechServers are the valid values of Transcription.Server.
var SpeechServers = []string{"openai", "whisper.cpp"}

// Bounds of what is sent and read. OpenAI takes 25 MB.
const (
	maxUpload  = 24 << 20
	maxSpeech  = 8 << 20
	maxRefusal = 4 << 10
)

// A speechServer is a server that is ready to be asked.
type speechServer struct {
	Transcription
	key      string
	endpoint string
	host     string
	part     float64  // seconds of one request
	codec    []string // of ffmpeg, for the sound that is sent
	file     string   // name of the sound
}

func (t Transcription) server(getenv func(string) string) (*speechServer, error) {
	if t.URL == "" {
		return nil, errors.New("no server for speech to text is configured (transcription.url in the configuration); give the job a transcript")
	}
	u, err := fetch.ParseURL(t.URL)
	if err != nil {
		return nil, fmt.Errorf("transcription.url, as the configuration has it: %w", err)
	}
	s := &speechServer{Transcription: t, host: u.Host}
	s.Model, s.Timeout = cmp.Or(t.Model, "whisper-1"), cmp.Or(t.Timeout, 10*time.Minute)
	if t.KeyEnv != "" {
		if s.key = getenv(t.KeyEnv); s.key == "" {
			return nil, fmt.Errorf("speech to text needs a key and %s is not set; only the user can fix this", t.KeyEnv)
		}
	}
	switch t.Server {
	case "", "openai":
		s.endpoint, s.part, s.file = "/audio/transcriptions", 600, "part.mp3"
		s.codec = []string{"-c:a", "libmp3lame", "-b:a", "48k", "-f", "mp3"}
	case "whisper.cpp":
		s.endpoint, s.part, s.file = "/inference", 300, "part.wav"
		s.codec = []string{"-c:a", "pcm_s16le", "-f", "wav"}
	default:
		return nil, fmt.Errorf("transcription.server is %q; it is openai or whisper.cpp", t.Server)
	}
	base := strings.TrimSuffix(u.String(), "/")
	if !strings.HasSuffix(base, s.endpoint) {
		base += s.endpoint
	}
	s.endpoint = base
	return s, nil
}

// form is the body of a request.
func (s *speechServer) form(sound []byte, language string) (body []byte, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	fields := [][2]string{{"response_format", "verbose_json"}, {"temperature", "0"}}
	if s.Server != "whisper.cpp" {
		fields = append(fields, [2]string{"model", s.Model}, [2]string{"timestamp_granularities[]", "segment"})
	}
	if language != "" {
		short, _, _ := strings.Cut(language, "-")
		fields = append(fields, [2]string{"language", strings.ToLower(short)})
	}
	for _, f := range fields {
		if err := w.WriteField(f[0], f[1]); err != nil {
			return nil, "", err
		}
	}
	file, err := w.CreateFormFile("file", s.file)
	if err != nil {
		return nil, "", err
	}
	if _, err := file.Write(sound); err != nil {
		return nil, "", err
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// ask sends a part, and once more if the server is busy.
func (s *speechServer) ask(ctx context.Context, client *http.Client, sound []byte, language string) ([]transcript.Cue, error) {
	body, kind, err := s.form(sound, language)
	if err != nil {
		return nil, err
	}
	patient := *client // speech takes longer than pages
	patient.Timeout = s.Timeout
	for again := false; ; again = true {
		list, wait, err := s.post(ctx, &patient, body, kind)
		if err == nil || wait == 0 || again {
			return list, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// post makes one request. wait is the pause before another one; zero if
// that would change nothing.
func (s *speechServer) post(ctx context.Context, client *http.Client, body []byte, kind string) (list []transcript.Cue, wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Accept", "application/json")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	resp, err := client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if u := new(url.Error); errors.As(err, &u) && u.Timeout() {
			return nil, 0, fmt.Errorf("%s did not answer within %s; raise transcription.timeout, or use a smaller model", s.host, s.Timeout)
		}
		return nil, 0, fmt.Errorf("%s: %w", s.host, fetch.PlainError(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, pause(resp), s.refusal(resp)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxSpeech+1))
	if err != nil {
		return nil, time.Second, fmt.Errorf("the answer of %s broke off: %w", s.host, fetch.PlainError(err))
	}
	if len(b) > maxSpeech {
		return nil, 0, fmt.Errorf("the answer of %s has more than %d bytes", s.host, maxSpeech)
	}
	list, err = readSegments(b)
	return list, 0, err
}

// pause returns the time for which a busy server asks clients to wait, at most half a
// minute; 0 if the server is not busy.
func pause(resp *http.Response) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode < 500 {
		return 0
	}
	n, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || n < 1 {
		n = 1
	}
	return time.Duration(min(n, 30)) * time.Second
}

// refusal explains a status, with what the server wrote.
func (s *speechServer) refusal(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // what there is of it
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	text := string(b)
	if json.Unmarshal(b, &e) == nil && e.Error != nil {
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(e.Error, &inner) == nil && inner.Message != "" {
			text = inner.Message
		} else if json.Unmarshal(e.Error, &text) != nil {
			text = string(e.Error)
		}
	}
	text = fetch.OneLine(transcript.Printable(text), 300)
	if s.key != "" {
		text = strings.ReplaceAll(text, s.key, "…") // some repeat it
	}
	advice := ""
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		advice = "; the key in " + cmp.Or(s.KeyEnv, "transcription.key_env") + " is wrong, which only the user can fix"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		advice = "; transcription.url ends in /v1 for servers like OpenAI's, and whisper.cpp needs server: whisper.cpp"
	case http.StatusRequestEntityTooLarge:
		advice = "; it takes less than was sent"
	}
	return fmt.Errorf("%s answered %d %s (%s)%s", s.host, resp.StatusCode, http.StatusText(resp.StatusCode), text, advice)
}

// Part is the podcast part: its tools, the section transcription, and what doctor says
// of ffmpeg.
func Part() adroit.Part {
	return adroit.Part{
		Name: "podcast", About: "Make notes, chapters, clips and a feed entry of a recorded episode.", Section: func() adroit.Section { return &Transcription{} },
		Examine: func(ctx context.Context) []adroit.Finding {
			f := doctor.Program(ctx, "ffmpeg", "recordings, clips and chapters of podcasts", "-hide_banner", "-version")
			f.For = []string{"*.mp3", "*.wav", "*.m4a", "*.flac"}
			return []adroit.Finding{f}
		},
	}
}

// Key is the section's.
func (t *Transcription) Key() string { return "transcription" }

// Settings are its keys.
func (t *Transcription) Settings() []adroit.PartSetting {
	return []adroit.PartSetting{
		{Key: "server", About: "The wire of the server that turns speech into text for transcribe_audio: `openai` (`/audio/transcriptions`, if left out) or `whisper.cpp` (`/inference`)"},
		{Key: "url", About: "Its address, such as https://api.openai.com/v1 or http://127.0.0.1:8080; what is not public must be in network.allow as well. Without it transcribe_audio is not offered"},
		{Key: "model", About: "The model of an `openai` server; one that gives times: `whisper-1` if left out"},
		{Key: "key_env", About: "The environment variable with the key"},
		{Key: "timeout", About: "Of one part of a recording; ten minutes if left out"},
	}
}

// Check checks the address and the server.
func (t *Transcription) Check(fault func(err error, hint string, keys ...string)) {
	if *t == (Transcription{}) {
		return
	}
	if _, err := fetch.ParseURL(t.URL); err != nil {
		fault(fmt.Errorf("transcription.url is %q", t.URL), "for example https://api.openai.com/v1 or http://127.0.0.1:8080", "url")
	} else if t.Server != "" && !slices.Contains(SpeechServers, t.Server) {
		fault(fmt.Errorf("transcription.server is %q", t.Server), "it is one of "+strings.Join(SpeechServers, ", "), "server")
	}
}

// Secrets are the variable with the key.
func (t *Transcription) Secrets() []string {
	if t.KeyEnv == "" {
		return nil
	}
	return []string{t.KeyEnv}
}

// Tools returns the part's tools with the server.
func (t *Transcription) Tools(h adroit.PartHost) []tools.Tool {
	conf := Config{Transcription: *t, Getenv: h.Getenv}
	if h.Data != "" {
		conf.Jobs = filepath.Join(h.Data, "jobs")
	}
	return Tools(conf)
}
