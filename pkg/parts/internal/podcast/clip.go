package podcast

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/tools"
)

// clipInput is the input of cut_clip.
type clipInput struct {
	Start     float64 `json:"start" jsonschema:"description=Seconds"`
	End       float64 `json:"end" jsonschema:"description=Seconds"`
	Out       string  `json:"out" jsonschema:"description=File to write"`
	Fade      float64 `json:"fade,omitempty" jsonschema:"description=Seconds; default 0.3"`
	Loudness  bool    `json:"loudness,omitempty" jsonschema:"description=Level it to -16 LUFS"`
	Audiogram bool    `json:"audiogram,omitempty" jsonschema:"description=Waves instead of a video's pictures"`
	Shape     string  `json:"shape,omitempty" jsonschema:"enum=16:9,enum=9:16,enum=1:1,description=Of an .mp4; default 16:9"`
	Title     string  `json:"title,omitempty" jsonschema:"maxLength=200,description=Shown above"`
	Cover     string  `json:"cover,omitempty" jsonschema:"description=.jpg or .png beside the waves"`
	Replace   bool    `json:"replace,omitempty" jsonschema:"description=Replace out"`
}

// A audioClip is an element of the artifact "clips".
type audioClip struct {
	Path     string  `json:"path"`
	Start    float64 `json:"start"`
	End      float64 `json:"end"`
	Text     string  `json:"text,omitempty"`
	Shape    string  `json:"shape,omitempty"`    // of a video: 16:9, 9:16, 1:1
	Captions bool    `json:"captions,omitempty"` // burnt in
}

const (
	clipsName = "clips"
	maxClip   = 600 // seconds
	maxClips  = 200
)

// cutClipTool is the tool cut_clip.
var cutClipTool = tools.New(tools.Metadata{
	Name: "cut_clip", Category: "content", Needs: tools.Read | tools.Write | tools.Exec, Effect: tools.Idempotent,
	Optionality: tools.Optional, Paths: []string{"out", "cover"}, Requires: []string{"ffmpeg"},
	Uses: []string{audioSource, episodeName, transcriptName, clipsName}, Produces: []string{clipsName},
	Examples: []tools.Example{{Note: "half a minute of sound", Args: json.RawMessage(`{"start":62.5,"end":94,"out":"clips/rye.mp3"}`)},
		{Note: "for phones", Args: json.RawMessage(`{"start":62.5,"end":94,"out":"clips/rye.mp4","shape":"9:16","title":"Why rye sticks","cover":"cover.jpg"}`)}},
	Timeout: patience + 3*probing,
}.ProseIn(descriptions), cut)

// A cutting is a clip on its way.
type cutting struct {
	in        clipInput
	media     mediaInfo
	said      transcript.Transcript
	start     float64
	long      float64
	video     bool // the clip has pictures
	layout    layout
	subtitles string // file with title and captions, to burn in
	captions  bool   // it has captions
}

func cut(ctx context.Context, env *tools.Env, in clipInput) (tools.Result, error) {
	c, err := plan(ctx, env, in)
	if err != nil {
		return tools.Result{}, err
	}
	var notes []string
	if c.video {
		why, err := c.caption(env)
		if err != nil {
			return tools.Result{}, err
		}
		if why != "" {
			notes = append(notes, "without captions: "+why)
		}
	}
	if name := c.subtitles; name != "" {
		defer func() { _ = env.Files.Remove(name) }()
	}
	log, err := c.encode(ctx, env)
	if err != nil && c.subtitles != "" && strings.Contains(log, "No such filter: 'subtitles'") {
		notes = append(notes, "without title and captions: this ffmpeg is built without the filter subtitles")
		c.subtitles, c.captions = "", false
		log, err = c.encode(ctx, env)
	}
	if err != nil {
		return tools.Result{}, err
	}
	clip := audioClip{Path: in.Out, Start: c.start, End: transcript.Millis(c.start + c.long), Shape: c.in.Shape, Captions: c.captions}
	clip.Text = c.said.Between(clip.Start+0.01, clip.End-0.01)
	if len(clip.Text) > 4000 {
		clip.Text = strings.ToValidUTF8(clip.Text[:4000], "") + " …"
	}
	switch {
	case c.subtitles != "" && !strings.Contains(log, "fontselect:"):
		clip.Captions = false
		notes = append(notes, "without title and captions: there is no font for them; install one such as fonts-dejavu-core")
	case strings.Contains(log, "failed to find any fallback with glyph"):
		clip.Captions = false
		notes = append(notes, "some letters of title or captions show as boxes: no font has them; install one such as fonts-noto-cjk and cut it again with replace")
	}
	list, _ := load[[]audioClip](env, clipsName)
	list = slices.DeleteFunc(list, func(o audioClip) bool { return o.Path == clip.Path })
	if list = append(list, clip); len(list) > maxClips {
		return tools.Result{}, fmt.Errorf("there are %d clips already; that is enough", maxClips)
	}
	sum := fmt.Sprintf("%s: %s to %s", in.Out, transcript.Seconds(clip.Start), transcript.Seconds(clip.End))
	text := fmt.Sprintf("%s, %s seconds", sum, transcript.Seconds(c.long))
	if clip.Captions {
		text += ", captions burnt in"
	}
	for _, n := range notes {
		text += "\n" + n
	}
	if clip.Text != "" {
		text += "\nsaid: " + clip.Text
	}
	return bind(clipsName, list, text, sum)
}

// encode writes the clip.
func (c *cutting) encode(ctx context.Context, env *tools.Env) (log string, err error) {
	args, format := c.args(env)
	return encode(ctx, env, c.in.Out, c.in.Replace, process.Cmd{Args: args}, format, func(temp string) error {
		got, err := probe(ctx, env, temp)
		if err != nil {
			return err
		}
		if c.video && c.in.Shape != "" && (got.Width != c.layout.w || got.Height != c.layout.h) {
			return fmt.Errorf("the clip came out with %dx%d pixels instead of %dx%d", got.Width, got.Height, c.layout.w, c.layout.h)
		}
		if math.Abs(got.Duration-c.long) > 0.5 {
			return fmt.Errorf("the clip came out %s seconds long instead of %s; the recording may be broken there", transcript.Seconds(got.Duration), transcript.Seconds(c.long))
		}
		return nil
	})
}

// kinds are the formats of clips, by extension.
var kinds = map[string]struct {
	format string
	codec  []string
	video  bool
}{
	".mp3": {"mp3", []string{"-c:a", "libmp3lame", "-b:a", "128k", "-id3v2_version", "3"}, false},
	".m4a": {"ipod", []string{"-c:a", "aac", "-b:a", "128k"}, false},
	".wav": {"wav", []string{"-c:a", "pcm_s16le"}, false},
	".mp4": {"mp4", []string{"-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "128k", "-movflags", "+faststart"}, true},
}

// plan settles what is cut from where.
func plan(ctx context.Context, env *tools.Env, in clipInput) (*cutting, error) {
	audio, err := ours(env)
	if err != nil {
		return nil, err
	}
	kind, ok := kinds[strings.ToLower(path.Ext(in.Out))]
	if !ok {
		return nil, fmt.Errorf("%q: clips are .mp3, .m4a, .wav or .mp4", in.Out)
	}
	if path.Clean(in.Out) == path.Clean(audio) {
		return nil, errors.New("out is the recording itself; choose another name")
	}
	switch { // before the recording is opened
	case !transcript.Sane(in.Start) || !transcript.Sane(in.End) || in.End <= in.Start:
		return nil, fmt.Errorf("a clip from %s to %s has no length; end has to be after start", transcript.Seconds(in.Start), transcript.Seconds(in.End))
	case in.Fade < 0 || in.Fade > 10:
		return nil, fmt.Errorf("fade is %s; 0 to 10 seconds can be used", transcript.Seconds(in.Fade))
	case !kind.video && (in.Audiogram || in.Shape != "" || in.Cover != "" || in.Title != ""):
		return nil, errors.New("audiogram, shape, title and cover are for pictures: let out end in .mp4")
	}
	m, err := probe(ctx, env, audio)
	if err != nil {
		return nil, err
	}
	c := &cutting{in: in, media: m, video: kind.video}
	c.said, _ = load[transcript.Transcript](env, transcriptName)
	switch {
	case in.Start >= m.Duration || in.End > m.Duration+1:
		return nil, fmt.Errorf("%s to %s does not lie within the recording, which is %s seconds long", transcript.Seconds(in.Start), transcript.Seconds(in.End), transcript.Seconds(m.Duration))
	case m.Video && (m.Width > 8192 || m.Height > 8192):
		return nil, fmt.Errorf("the pictures of %s are too large (%dx%d)", m.Path, m.Width, m.Height)
	}
	if c.in.Audiogram = c.video && (in.Audiogram || !m.Video); c.in.Audiogram {
		c.in.Shape = cmp.Or(in.Shape, "16:9")
	}
	c.layout = layouts[cmp.Or(c.in.Shape, "16:9")]
	switch {
	case in.Cover != "" && !c.in.Audiogram:
		return nil, errors.New("a cover stands beside waves: set audiogram, or leave it out")
	case in.Cover != "":
		if _, _, err := picture(ctx, env, in.Cover); err != nil {
			return nil, err
		}
	}
	end := min(in.End, m.Duration)
	c.start, end = snap(c.said, in.Start, end)
	end = min(end, m.Duration)
	if c.long = transcript.Millis(end - c.start); c.long < 0.5 || c.long > maxClip {
		return nil, fmt.Errorf("the clip would be %s seconds long; 0.5 to %d can be cut", transcript.Seconds(c.long), maxClip)
	}
	return c, nil
}

// snap moves two times outward to where cues begin and end, by ten seconds at
// most: a cue of minutes is no sentence.
func snap(t transcript.Transcript, start, end float64) (float64, float64) {
	s, e := start, end
	if !t.Timed {
		return s, e
	}
	for _, q := range t.Cues {
		if q.Start < start && q.End > start && start-q.Start <= 10 {
			s = min(s, q.Start)
		}
		if q.Start < end && q.End > end && q.End-end <= 10 {
			e = max(e, q.End)
		}
	}
	return s, e
}

// args are ffmpeg's, up to the output. All in them that comes from others are
// the two names, which arg guards; text travels in files.
func (c *cutting) args(env *tools.Env) (args []string, format string) {
	kind := kinds[strings.ToLower(path.Ext(c.in.Out))]
	args = slices.Concat([]string{"ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-loglevel", "info", "-y"},
		guard(), []string{"-ss", transcript.Seconds(c.start), "-t", transcript.Seconds(c.long), "-i", arg(env, c.media.Path)})
	if c.in.Cover != "" {
		args = append(args, pictureInput(env, c.in.Cover)...)
	}
	args = append(args, "-map_metadata", "-1", "-map_chapters", "-1")
	sound := c.sound()
	switch {
	case !c.video:
		args = append(args, "-map", "0:a:0", "-af", sound)
	case c.in.Audiogram:
		args = append(args, "-filter_complex", c.audiogram(), "-map", "[v]", "-map", "[a]")
	default:
		args = append(args, "-map", "0:v:0", "-map", "0:a:0", "-af", sound, "-vf", c.pictures())
	}
	args = append(args, kind.codec...)
	return append(args, "-t", transcript.Seconds(c.long)), kind.format
}

// sound is the chain of filters for the sound. Its figures are ours.
func (c *cutting) sound() string {
	fade := min(cmp.Or(c.in.Fade, 0.3), c.long/2)
	s := ""
	if c.in.Loudness {
		s = "loudnorm=I=-16:TP=-1.5:LRA=11,"
	}
	return s + fmt.Sprintf("afade=t=in:st=0:d=%s,afade=t=out:st=%s:d=%s,aresample=44100", transcript.Seconds(fade), transcript.Seconds(c.long-fade), transcript.Seconds(fade))
}
