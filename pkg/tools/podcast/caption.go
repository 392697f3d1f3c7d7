package podcast

import (
	"context"
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

// caption writes the file of captions, or reports why there can be none.
func (c *cutting) caption(ctx context.Context, env *tools.Env) (why string, err error) {
	text := c.said.subtitles(c.start, c.start+c.long)
	if text == "" {
		return "the transcript has nothing there, or no times", nil
	}
	out, _, err := command(ctx, env, process.Cmd{Args: []string{"ffmpeg", "-hide_banner", "-filters"}, Timeout: probing})
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(out), " subtitles ") {
		return "this ffmpeg is built without the filter subtitles", nil
	}
	// At the top and of our own letters: in a list of filters no name needs
	// to be quoted, and none is.
	name := path.Base(scratch(env, c.in.Out, ".ass"))
	if err := env.Files.WriteFile(name, []byte(text)); err != nil {
		return "", err
	}
	c.captions = name
	return "", nil
}

const assHead = `[Script Info]
ScriptType: v4.00+
PlayResX: 1280
PlayResY: 720
WrapStyle: 0

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Default,Sans,44,&H00FFFFFF,&H00FFFFFF,&H00000000,&H80000000,0,0,0,0,100,100,0,0,1,3,0,2,80,80,50,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
`

// subtitles renders the cues between two times for burning in, with times
// relative to the first. It is empty if there are none.
func (t episodeTranscript) subtitles(from, to float64) string {
	if !t.Timed {
		return ""
	}
	var b strings.Builder
	n := 0
	for _, q := range t.Cues {
		start, end := max(q.Start, from)-from, min(q.End, to)-from
		if end-start < 0.05 || n == 2000 {
			continue
		}
		parts := pieces(inert(q.Text))
		each := (end - start) / float64(len(parts))
		for i, p := range parts {
			fmt.Fprintf(&b, "Dialogue: 0,%s,%s,Default,,0,0,0,,%s\n", assTime(start+float64(i)*each), assTime(start+float64(i+1)*each), p)
		}
		n++
	}
	if n == 0 {
		return ""
	}
	return assHead + b.String()
}

// inert replaces what subtitles take for commands by what looks like it.
var inertly = strings.NewReplacer(`\`, "⧵", "{", "(", "}", ")", "\n", " ")

func inert(s string) string { return inertly.Replace(printable(s)) }

// pieces cuts text into what fits on two lines, at spaces.
func pieces(s string) []string {
	const room = 90
	var out []string
	line := ""
	for w := range strings.FieldsSeq(s) {
		if r := []rune(w); len(r) > room {
			w = string(r[:room])
		}
		if line != "" && len(line)+1+len(w) > room {
			out, line = append(out, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	if out = append(out, line); len(out) > 40 {
		out = out[:40]
	}
	return out
}

func assTime(t float64) string {
	cs := int(math.Round(t * 100))
	return fmt.Sprintf("%d:%02d:%02d.%02d", cs/360000, cs/6000%60, cs/100%60, cs%100)
}
