package podcast

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A box is a place in a picture, in pixels.
type box struct{ x, y, w, h int }

// A layout places what a clip shows. Networks cover the edges of tall clips
// with their own buttons: nothing stands there.
type layout struct {
	w, h             int
	title            int // size of its letters
	titleTop         int
	titleLines       int
	cover            box
	waves, wavesOnly box // beside the cover; without one
	caption          int // size of its letters
	captionBottom    int
	captionLines     int
	margin           int
}

// layouts maps the argument shape to layouts.
var layouts = map[string]layout{
	"16:9": {w: 1280, h: 720, title: 50, titleTop: 40, titleLines: 1, cover: box{80, 130, 340, 340}, waves: box{470, 130, 730, 340}, wavesOnly: box{80, 130, 1120, 340},
		caption: 50, captionBottom: 50, captionLines: 2, margin: 80},
	"9:16": {w: 1080, h: 1920, title: 76, titleTop: 170, titleLines: 3, cover: box{190, 480, 700, 700}, waves: box{90, 1210, 900, 170}, wavesOnly: box{90, 560, 900, 600},
		caption: 76, captionBottom: 250, captionLines: 3, margin: 90},
	"1:1": {w: 1080, h: 1080, title: 58, titleTop: 50, titleLines: 2, cover: box{80, 220, 430, 430}, waves: box{550, 220, 450, 430}, wavesOnly: box{80, 240, 920, 390},
		caption: 58, captionBottom: 80, captionLines: 3, margin: 80},
}

// columns returns the number of letters of a size that fit on a line: on average a letter
// is half as wide as the line is high, and wide ones count for two.
func (l layout) columns(size int) int { return (l.w - 2*l.margin) * 2 / size }

const assHead = `[Script Info]
ScriptType: v4.00+
PlayResX: %d
PlayResY: %d
WrapStyle: 2
ScaledBorderAndShadow: yes

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
Style: Caption,Sans,%d,&H00FFFFFF,&H00FFFFFF,%s,0,0,0,0,100,100,0,0,%s,0,2,%d,%d,%d,1
Style: Title,Sans,%d,&H00FFFFFF,&H00FFFFFF,%s,1,0,0,0,100,100,0,0,%s,0,8,%d,%d,%d,1

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
`

// maxDialogues bounds the captions of a clip.
const maxDialogues = 2000

// subtitles renders a title and the cues between two times for burning in, with
// times relative to the first. It is empty if there is neither; captions
// reports whether there are cues. On the pictures of a video, letters stand on a
// dark box.
func (l layout) subtitles(t transcript.Transcript, title string, from, to float64, boxed bool) (text string, captions bool) {
	var b strings.Builder
	colours, border := "&H00000000,&H00000000", "1,3"
	if boxed {
		colours, border = "&H40000000,&H40000000", "3,14"
	}
	fmt.Fprintf(&b, assHead, l.w, l.h, l.caption, colours, border, l.margin, l.margin, l.captionBottom, l.title, colours, border, l.margin, l.margin, l.titleTop)
	line := func(style string, start, end float64, text string) {
		fmt.Fprintf(&b, "Dialogue: 0,%s,%s,%s,,0,0,0,,%s\n", assTime(start), assTime(end), style, text)
	}
	if title = inert(title); title != "" {
		line("Title", 0, to-from, l.heading(title))
	}
	n, speaker := 0, ""
	for _, q := range t.Cues {
		start, end := max(q.Start, from)-from, min(q.End, to)-from
		if !t.Timed || end-start < 0.05 || n >= maxDialogues {
			continue
		}
		text := inert(q.Text)
		name := ""
		if q.Speaker != "" && q.Speaker != speaker {
			name = inert(q.Speaker) + ":"
			text = name + " " + text
		}
		speaker = q.Speaker
		parts := l.pieces(text)
		whole := 0
		for _, p := range parts {
			whole += width(p)
		}
		at := start
		for i, p := range parts {
			until := at + (end-start)*float64(width(p))/float64(max(whole, 1))
			if i == 0 && name != "" && !boxed {
				p = coloured(p, name)
			}
			line("Caption", at, until, p)
			at, n = until, n+1
		}
	}
	if n == 0 && title == "" {
		return "", false
	}
	return b.String(), n > 0
}

// heading is a title as it is shown: in smaller letters and a line more where it
// would be cut, and cut where even that does not hold it.
func (l layout) heading(title string) string {
	size, most, tag := l.title, l.titleLines, ""
	if len(breakLines(title, l.columns(size)*9/10)) > most { // it is bold
		size, most = size*3/4, most+1
		tag = fmt.Sprintf(`{\fs%d}`, size)
	}
	lines := breakLines(title, l.columns(size)*9/10)
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = strings.TrimRight(lines[most-1], " ,;:.") + "…"
	}
	return tag + shown(lines)
}

// shown joins lines. One that ends in a script written from right to left gets
// a mark, or its full stop would stand at the wrong end.
func shown(lines []string) string {
	out := slices.Clone(lines)
	for i, s := range out {
		letters := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
		if len(letters) > 0 {
			if last, _ := utf8.DecodeLastRuneInString(letters[len(letters)-1]); unicode.In(last, unicode.Arabic, unicode.Hebrew) {
				out[i] += "\u200f"
			}
		}
	}
	return strings.Join(out, `\N`)
}

// coloured gives the name at the beginning of a caption a colour of its own,
// also where it takes several lines.
func coloured(text, name string) string {
	rest, end := strings.ReplaceAll(name, " ", ""), 0
	for rest != "" {
		r, n := utf8.DecodeRuneInString(text[end:])
		switch {
		case strings.HasPrefix(text[end:], `\N`):
			end += len(`\N`)
		case r == ' ':
			end += n
		case strings.HasPrefix(rest, string(r)) && n > 0:
			rest, end = rest[n:], end+n
		default:
			return text // it goes on in the next caption
		}
	}
	return `{\c&HFCD37D&}` + text[:end] + `{\c&HFFFFFF&}` + text[end:]
}

// inert replaces what subtitles take for commands by what looks like it.
var inertly = strings.NewReplacer(`\`, "/", "{", "(", "}", ")", "\n", " ")

func inert(s string) string { return strings.TrimSpace(inertly.Replace(transcript.Printable(s))) }

// pieces cuts text into what is shown at once.
func (l layout) pieces(s string) []string {
	const most = 100
	lines := breakLines(s, l.columns(l.caption))
	var out []string
	for len(lines) > 0 && len(out) < most {
		n := min(len(lines), l.captionLines)
		out = append(out, shown(lines[:n]))
		lines = lines[n:]
	}
	return out
}

// breakLines breaks text into lines of at most so many columns: at spaces, and
// between letters of scripts that are written without them.
func breakLines(s string, columns int) []string {
	var out []string
	var line, word strings.Builder
	have := 0 // columns of the line
	flush := func() {
		if line.Len() > 0 {
			out = append(out, line.String())
		}
		line.Reset()
		have = 0
	}
	add := func(space bool) {
		w := word.String()
		word.Reset()
		if w == "" {
			return
		}
		gap := 0
		if space && have > 0 {
			gap = 1
		}
		if have > 0 && have+gap+width(w) > columns {
			flush()
		} else if gap > 0 {
			line.WriteByte(' ')
			have++
		}
		for _, r := range w { // a word that is longer than a line
			if have >= columns {
				flush()
			}
			line.WriteRune(r)
			have += columnsOf(r)
		}
	}
	spaced := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			add(spaced)
			spaced = true
			continue
		case columnsOf(r) == 2 && !unicode.IsPunct(r) && word.Len() > 0:
			add(spaced)
			spaced = false
		}
		word.WriteRune(r)
		if r == '-' && word.Len() > 2 { // a long name breaks there
			add(spaced)
			spaced = false
		}
	}
	add(spaced)
	flush()
	return append(out, "")[:max(len(out), 1)]
}

// columnsOf returns the number of columns that a letter takes.
func columnsOf(r rune) int {
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0x3000 && r <= 0x303F || r >= 0xFF00 && r <= 0xFF60 {
		return 2
	}
	return 1
}

func width(s string) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

// Colours of an audiogram.
const (
	background = "0x14181f"
	waveColour = "0x7dd3fc"
)

// audiogram is the graph of filters that draws the sound, with a cover if there
// is one as the second input. Its figures and names are ours.
func (c *cutting) audiogram() string {
	l := c.layout
	waves := l.wavesOnly
	if c.in.Cover != "" {
		waves = l.waves
	}
	g := fmt.Sprintf("[0:a:0]%s,asplit=2[a][w];[w]showwaves=s=%dx%d:mode=cline:rate=25:colors=%s:scale=sqrt:draw=full[waves];", c.sound(), waves.w, waves.h, waveColour)
	g += fmt.Sprintf("color=c=%s:s=%dx%d:r=25[plain];[plain][waves]overlay=%d:%d:shortest=1", background, l.w, l.h, waves.x, waves.y)
	if c.in.Cover != "" {
		g += fmt.Sprintf("[drawn];[1:v]%s[cover];[drawn][cover]overlay=%d:%d", fill(l.cover.w, l.cover.h), l.cover.x, l.cover.y)
	}
	return g + ",format=yuv420p" + c.burn() + "[v]"
}

// fill scales a picture until it fills so many pixels, and cuts what is over.
func fill(w, h int) string {
	return fmt.Sprintf("scale=%d:%d:force_original_aspect_ratio=increase,crop=%d:%d,setsar=1", w, h, w, h)
}

// pictures is the filter for the pictures of a video.
func (c *cutting) pictures() string {
	if c.in.Shape != "" {
		return fill(c.layout.w, c.layout.h) + c.burn()
	}
	return "scale=w=trunc(min(1280\\,iw)/2)*2:h=-2" + c.burn()
}

func (c *cutting) burn() string {
	if c.subtitles == "" {
		return ""
	}
	return ",subtitles=filename=" + c.subtitles
}

// subtitleFile names the file of captions: at the top and of our own letters,
// since in a list of filters no name needs to be quoted then, and none is.
func (c *cutting) subtitleFile(env *tools.Env) string {
	return path.Base(scratch(env, c.in.Out, ".ass"))
}

// caption writes the file of title and captions, or reports why there is none.
func (c *cutting) caption(env *tools.Env) (why string, err error) {
	text, captions := c.layout.subtitles(c.said, c.in.Title, c.start, c.start+c.long, !c.in.Audiogram)
	if !captions {
		why = "the transcript has nothing there, or no times"
	}
	if text == "" {
		return why, nil
	}
	name := c.subtitleFile(env)
	if err := env.Files.WriteFile(name, []byte(text)); err != nil {
		return "", err
	}
	c.subtitles, c.captions = name, captions
	return why, nil
}

func assTime(t float64) string {
	cs := int(math.Round(t * 100))
	return fmt.Sprintf("%d:%02d:%02d.%02d", cs/360000, cs/6000%60, cs/100%60, cs%100)
}
