package podcast

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A mediaInfo is ffprobe's report about a recording: the artifact "episode".
type mediaInfo struct {
	Path     string        `json:"path"`
	Size     int64         `json:"size"` // bytes
	Format   string        `json:"format"`
	Duration float64       `json:"duration"` // seconds
	Codec    string        `json:"codec"`    // of the first audio stream
	Rate     int           `json:"rate,omitempty"`
	Channels int           `json:"channels,omitempty"`
	Bits     int           `json:"bit_rate,omitempty"`
	Video    bool          `json:"video,omitempty"` // moving pictures, not a cover
	Cover    bool          `json:"cover,omitempty"`
	Width    int           `json:"width,omitempty"`
	Height   int           `json:"height,omitempty"`
	Title    string        `json:"title,omitempty"`
	Artist   string        `json:"artist,omitempty"`
	Album    string        `json:"album,omitempty"`
	Chapters []chapterMark `json:"chapters,omitempty"`
}

// probeInput is the input of probe_audio.
type probeInput struct {
	Path string `json:"path,omitempty" jsonschema:"description=Recording; default the job's"`
}

// probeAudioTool is the tool probe_audio.
var probeAudioTool = tools.New(tools.Metadata{
	Name: "probe_audio", Category: "content", Needs: tools.Read | tools.Exec, Effect: tools.Idempotent,
	Paths: []string{"path"}, Requires: []string{"ffmpeg"},
	Uses: []string{audioSource}, Produces: []string{episodeName},
	Examples: []tools.Example{{Note: "the recording of the job", Args: json.RawMessage(`{}`)}},
	Timeout:  2 * probing,
}.ProseIn(descriptions), func(ctx context.Context, env *tools.Env, in probeInput) (tools.Result, error) {
	name := cmp.Or(in.Path, source(env, audioSource))
	if name == "" {
		return tools.Result{}, errors.New("the job was given no recording: name one with path")
	}
	m, err := probe(ctx, env, name)
	if err != nil {
		return tools.Result{}, err
	}
	return bind(episodeName, m, m.report(), m.headline())
})

func (m mediaInfo) headline() string {
	kind := "audio"
	if m.Video {
		kind = "video"
	}
	return fmt.Sprintf("%s, %s %s", transcript.Stamp(m.Duration), m.Codec, kind)
}

func (m mediaInfo) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s seconds (%s), %d bytes, %s", m.Path, transcript.Seconds(m.Duration), transcript.Stamp(m.Duration), m.Size, m.Format)
	fmt.Fprintf(&b, ", audio %s %d Hz, %d channels", m.Codec, m.Rate, m.Channels)
	if m.Video {
		fmt.Fprintf(&b, ", video %dx%d", m.Width, m.Height)
	}
	b.WriteByte('\n')
	for _, tag := range []struct{ name, value string }{{"title", m.Title}, {"artist", m.Artist}, {"album", m.Album}} {
		if tag.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", tag.name, tag.value)
		}
	}
	for i, c := range m.Chapters {
		if i == 50 {
			fmt.Fprintf(&b, "and %d more chapters\n", len(m.Chapters)-i)
			break
		}
		fmt.Fprintf(&b, "chapter at %s: %s\n", transcript.Seconds(c.Start), c.Title)
	}
	return b.String()
}

// probe asks ffprobe about a recording. One without sound or with a length
// that cannot be is refused.
func probe(ctx context.Context, env *tools.Env, name string) (mediaInfo, error) {
	size, err := recording(env, name)
	if err != nil {
		return mediaInfo{}, err
	}
	args := append([]string{"ffprobe", "-hide_banner", "-v", "error"}, guard()...)
	args = append(args, "-of", "json", "-show_format", "-show_streams", "-show_chapters", "-i", arg(env, name))
	out, _, err := command(ctx, env, process.Cmd{Args: args, Timeout: probing})
	if err != nil {
		return mediaInfo{}, fmt.Errorf("%q is no recording that can be used: %w", name, err)
	}
	m, err := parseProbe(out)
	if err != nil {
		return mediaInfo{}, fmt.Errorf("%q: %w", name, err)
	}
	m.Path, m.Size = strings.TrimPrefix(arg(env, name), "file:"), size
	return m, nil
}

type probed struct {
	Format struct {
		Name     string            `json:"format_name"`
		Duration string            `json:"duration"`
		Bits     string            `json:"bit_rate"`
		Tags     map[string]string `json:"tags"`
	} `json:"format"`
	Streams []struct {
		Type        string         `json:"codec_type"`
		Codec       string         `json:"codec_name"`
		Rate        string         `json:"sample_rate"`
		Channels    int            `json:"channels"`
		Duration    string         `json:"duration"`
		Width       int            `json:"width"`
		Height      int            `json:"height"`
		Disposition map[string]int `json:"disposition"`
	} `json:"streams"`
	Chapters []struct {
		Start string            `json:"start_time"`
		End   string            `json:"end_time"`
		Tags  map[string]string `json:"tags"`
	} `json:"chapters"`
}

// parseProbe reads what ffprobe writes.
func parseProbe(b []byte) (mediaInfo, error) {
	var p probed
	if err := json.Unmarshal(b, &p); err != nil {
		return mediaInfo{}, fmt.Errorf("the output of ffprobe cannot be read: %w", err)
	}
	m := mediaInfo{Format: p.Format.Name}
	length, _ := strconv.ParseFloat(p.Format.Duration, 64) // none is zero
	m.Bits, _ = strconv.Atoi(p.Format.Bits)                // none is zero
	for _, s := range p.Streams {
		switch {
		case s.Type == "audio" && m.Codec == "":
			m.Codec, m.Channels = s.Codec, s.Channels
			m.Rate, _ = strconv.Atoi(s.Rate) // none is zero
			if length == 0 {
				length, _ = strconv.ParseFloat(s.Duration, 64)
			}
		case s.Type == "video" && s.Disposition["attached_pic"] == 0 && !m.Video:
			m.Video, m.Width, m.Height = true, s.Width, s.Height
		case s.Type == "video" && s.Disposition["attached_pic"] != 0:
			m.Cover = true
		}
	}
	if m.Codec == "" {
		return mediaInfo{}, errors.New("there is no sound in it")
	}
	if !transcript.Sane(length) || length == 0 {
		return mediaInfo{}, fmt.Errorf("its length (%q) is not known or cannot be", p.Format.Duration)
	}
	m.Duration = transcript.Millis(length)
	m.Title, m.Artist, m.Album = transcript.Label(p.Format.Tags["title"]), transcript.Label(p.Format.Tags["artist"]), transcript.Label(p.Format.Tags["album"])
	for _, c := range p.Chapters {
		start, err := strconv.ParseFloat(c.Start, 64)
		end, err2 := strconv.ParseFloat(c.End, 64)
		if err == nil && err2 == nil && transcript.Sane(start) && transcript.Sane(end) {
			m.Chapters = append(m.Chapters, chapterMark{Start: transcript.Millis(start), End: transcript.Millis(end), Title: c.Tags["title"]})
		}
	}
	return m, nil
}
