package podcast

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Config is the operator's configuration of these tools.
type Config struct {
	Transcription Transcription
	// Getenv gives the value of the variable that holds the key; nil is os.Getenv.
	Getenv func(string) string
	// Jobs has a directory for each job, in which the parts that are transcribed
	// are kept: a job that goes on after a crash does not send them again. Empty
	// keeps none.
	Jobs string
}

// transcribeInput is the input of transcribe_audio.
type transcribeInput struct {
	Path     string `json:"path,omitempty" jsonschema:"description=Recording; default the job's"`
	Language string `json:"language,omitempty" jsonschema:"description=Like en; default is detected"`
}

// transcribeTool is the tool transcribe_audio. Without a server it requires one,
// so that no agent is offered it.
func transcribeTool(c Config) tools.Tool {
	m := tools.Metadata{
		Name: "transcribe_audio", Category: "content", Needs: tools.Read | tools.Exec | tools.Net, Effect: tools.Idempotent,
		Optionality: tools.Optional, Paths: []string{"path"}, Requires: []string{"ffmpeg"},
		Uses: []string{audioSource, episodeName}, Produces: []string{transcriptSource},
		Examples: []tools.Example{{Note: "the recording of the job", Args: json.RawMessage(`{"language":"en"}`)}},
		Timeout:  3 * time.Hour,
	}.ProseIn(descriptions)
	if c.Transcription.URL == "" {
		m.Requires = append(m.Requires, "config:transcription")
	}
	return tools.New(m, func(ctx context.Context, env *tools.Env, in transcribeInput) (tools.Result, error) {
		return c.transcribe(ctx, env, in)
	})
}

func (c Config) transcribe(ctx context.Context, env *tools.Env, in transcribeInput) (tools.Result, error) {
	if in.Language != "" && !language.MatchString(in.Language) {
		return tools.Result{}, fmt.Errorf("language %q is no code like en", in.Language)
	}
	server, err := c.Transcription.server(c.Getenv)
	if err != nil {
		return tools.Result{}, err
	}
	name := in.Path
	if name == "" {
		if name, err = ours(env); err != nil {
			return tools.Result{}, err
		}
	}
	m, err := probe(ctx, env, name)
	if err != nil {
		return tools.Result{}, err
	}
	cuts, err := cutPoints(ctx, env, m, server.part)
	if err != nil {
		return tools.Result{}, err
	}
	kept := keptParts(c.Jobs, env.Job)
	var whole transcript.Collector
	whole.Format = "json"
	recalled := 0
	for i := range cuts[:len(cuts)-1] {
		from, to := cuts[i], cuts[i+1]
		sound, err := server.sound(ctx, env, m, from, to-from)
		if err != nil {
			return tools.Result{}, err
		}
		id := server.id(sound, in.Language)
		list, ok := kept.load(id)
		if !ok {
			env.Progress(fmt.Sprintf("part %d of %d, from %s", i+1, len(cuts)-1, transcript.Stamp(from)))
			if list, err = server.ask(ctx, env.HTTP, sound, in.Language); err != nil {
				return tools.Result{}, fmt.Errorf("%s to %s of %s was not transcribed: %w", transcript.Stamp(from), transcript.Stamp(to), m.Path, err)
			}
			kept.save(id, list)
		} else {
			recalled++
		}
		for _, q := range list {
			q.Start, q.End = transcript.Millis(min(q.Start+from, to)), transcript.Millis(min(q.End+from, to))
			whole.Add(q)
		}
	}
	t, err := whole.Transcript()
	if err != nil {
		return tools.Result{}, fmt.Errorf("%s has no speech that the server understood", m.Path)
	}
	sum := fmt.Sprintf("%s transcribed: %s", transcript.Stamp(m.Duration), spelling.Plural(len(t.Cues), "cue"))
	text := fmt.Sprintf("%s, %d parts sent to %s", sum, len(cuts)-1-recalled, server.host)
	if recalled > 0 {
		text += fmt.Sprintf(", %d were there already", recalled)
	}
	return bind(transcriptSource, t.VTT(), text+". Call process_transcript.", sum)
}

// cutPoints divides a recording into parts of at most so many seconds, at
// silences where there are any, so that no word is cut.
func cutPoints(ctx context.Context, env *tools.Env, m mediaInfo, part float64) ([]float64, error) {
	cuts := []float64{0}
	if m.Duration <= part+1 {
		return append(cuts, m.Duration), nil
	}
	args := slices.Concat([]string{"ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-loglevel", "warning"}, guard(),
		[]string{"-i", arg(env, m.Path), "-map", "0:a:0", "-vn", "-af", "silencedetect=noise=-35dB:duration=0.3,ametadata=mode=print:file=-", "-f", "null", "-"})
	out, _, err := command(ctx, env, process.Cmd{Args: args, Timeout: patience})
	if err != nil {
		return nil, err
	}
	return divide(m.Duration, part, parseSilences(out)), nil
}

var silence = lazyregexp.New(`lavfi\.silence_(start|end)=(-?[0-9.]+)`)

// parseSilences returns the middles of the silences that ffmpeg reports.
func parseSilences(out []byte) []float64 {
	var mid []float64
	start := math.NaN()
	for _, f := range silence.FindAllStringSubmatch(string(out), -1) {
		t, err := strconv.ParseFloat(f[2], 64)
		switch {
		case err != nil:
		case f[1] == "start":
			start = t
		case !math.IsNaN(start):
			mid = append(mid, (start+t)/2)
			start = math.NaN()
		}
	}
	return mid
}

// divide cuts at the last silence of each part's last fifth, else at its end. A
// rest that is too short for speech stays with the part before it.
func divide(long, part float64, silences []float64) []float64 {
	cuts := []float64{0}
	for long-cuts[len(cuts)-1] > part+1 {
		from := cuts[len(cuts)-1]
		cut := from + part
		for _, s := range silences {
			if s > from+part*0.8 && s < from+part {
				cut = s
			}
		}
		cuts = append(cuts, transcript.Millis(cut))
	}
	return append(cuts, long)
}

// sound is a part of a recording in the form that the server takes.
func (s *speechServer) sound(ctx context.Context, env *tools.Env, m mediaInfo, from, long float64) ([]byte, error) {
	args := slices.Concat([]string{"ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-loglevel", "warning"}, guard(),
		[]string{"-ss", transcript.Seconds(from), "-t", transcript.Seconds(long), "-i", arg(env, m.Path), "-map", "0:a:0", "-vn", "-map_metadata", "-1", "-ac", "1", "-ar", "16000",
			"-fflags", "+bitexact", "-flags:a", "+bitexact"}, s.codec, []string{"pipe:1"})
	out, _, err := commandOutput(ctx, env, process.Cmd{Args: args, Timeout: patience}, maxUpload)
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, errors.New("there is no sound in it")
	}
	if bytes.HasPrefix(out, []byte("RIFF")) && len(out) > 44 {
		sizeWAV(out)
	}
	return out, nil
}

// sizeWAV writes the lengths into the header, which ffmpeg cannot do where it
// writes to a pipe.
func sizeWAV(b []byte) {
	put := func(at, n int) { b[at], b[at+1], b[at+2], b[at+3] = byte(n), byte(n>>8), byte(n>>16), byte(n>>24) }
	put(4, len(b)-8)
	if at := bytes.Index(b[:min(len(b), 200)], []byte("data")); at > 0 {
		put(at+4, len(b)-at-8)
	}
}

// readSegments reads what a server answers: verbose_json, with times in seconds.
func readSegments(body []byte) ([]transcript.Cue, error) {
	var d transcript.Document
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, errors.New("the server did not answer with JSON: " + strings.ToValidUTF8(transcript.Printable(string(body[:min(len(body), 200)])), ""))
	}
	c := transcript.Collector{Format: "json"}
	for _, g := range append(d.Segments, d.Transcription...) {
		g.Add(&c)
	}
	if len(c.List) == 0 && strings.TrimSpace(d.Text) != "" {
		return nil, errors.New("the server answered with text without times; configure a model that gives them, such as whisper-1")
	}
	return c.List, nil
}

// partStore is the directory in which a job keeps the parts of a recording that
// are transcribed, by what was sent. It is a convenience: what goes wrong with
// it is as if nothing were there. "" keeps none.
type partStore string

// keptParts is the store of a job; one that has no directory keeps none.
func keptParts(jobs, job string) partStore {
	if jobs == "" || !filepath.IsLocal(job) {
		return ""
	}
	dir := filepath.Join(jobs, job)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return partStore(filepath.Join(dir, "transcribed"))
}

// id names a part: all that its text depends on.
func (s *speechServer) id(sound []byte, language string) string {
	h := sha256.New()
	for _, text := range []string{s.endpoint, s.Server, s.Model, language} {
		h.Write([]byte(text + "\x00"))
	}
	h.Write(sound)
	return hex.EncodeToString(h.Sum(nil))
}

func (p partStore) load(id string) ([]transcript.Cue, bool) {
	if p == "" {
		return nil, false
	}
	b, err := os.ReadFile(filepath.Join(string(p), id))
	var list []transcript.Cue
	return list, err == nil && json.Unmarshal(b, &list) == nil
}

// save keeps a part if it can.
func (p partStore) save(id string, list []transcript.Cue) {
	b, err := json.Marshal(list)
	if p != "" && err == nil {
		_ = rootfs.WriteFile(filepath.Join(string(p), id), b)
	}
}
