package transcript

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// An exportFormat writes a transcript as a file of one kind.
type exportFormat struct {
	Ext   string
	Timed bool // it cannot be written without times
	Write func(t Transcript, title string) ([]byte, error)
}

// Formats are the formats that players, video editors, people and the podcast namespace
// read.
var Formats = []exportFormat{
	{".vtt", true, func(t Transcript, _ string) ([]byte, error) { return []byte(t.VTT()), nil }},
	{".srt", true, func(t Transcript, _ string) ([]byte, error) { return []byte(t.srt()), nil }},
	{".json", true, func(t Transcript, _ string) ([]byte, error) { return t.segments() }},
	{".md", false, func(t Transcript, title string) ([]byte, error) { return []byte(t.markdown(title)), nil }},
}

// shownFor is the least time for which a cue without an end is shown, in seconds.
const shownFor = 2

// ends returns the cues with an end after their start: players skip cues
// without a length.
func (t Transcript) ends() []Cue {
	out := make([]Cue, len(t.Cues))
	for i, q := range t.Cues {
		if q.End <= q.Start {
			q.End = q.Start + shownFor
			if i+1 < len(t.Cues) && t.Cues[i+1].Start > q.Start {
				q.End = min(q.End, t.Cues[i+1].Start)
			}
		}
		out[i] = q
	}
	return out
}

var escapeVTT = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// VTT is the transcript as WebVTT with voice tags, the form that Apple Podcasts
// and the podcast namespace prefer.
func (t Transcript) VTT() string {
	var b strings.Builder
	b.WriteString("WEBVTT\n")
	for _, q := range t.ends() {
		fmt.Fprintf(&b, "\n%s --> %s\n", cueTime(q.Start, '.'), cueTime(q.End, '.'))
		if q.Speaker != "" {
			fmt.Fprintf(&b, "<v %s>", escapeVTT.Replace(q.Speaker))
		}
		b.WriteString(escapeVTT.Replace(q.Text) + "\n")
	}
	return b.String()
}

// srt is the transcript as SubRip, which has no place for a speaker but the
// text.
func (t Transcript) srt() string {
	var b strings.Builder
	speaker := ""
	for i, q := range t.ends() {
		text := strings.ReplaceAll(q.Text, "-->", "→")
		if q.Speaker != "" && q.Speaker != speaker {
			text = q.Speaker + ": " + text
		}
		speaker = q.Speaker
		fmt.Fprintf(&b, "%d\n%s --> %s\n%s\n\n", i+1, cueTime(q.Start, ','), cueTime(q.End, ','), text)
	}
	return b.String()
}

// cueTime writes seconds as 01:02:03.500.
func cueTime(t float64, point byte) string {
	ms := int64(math.Round(t * 1000))
	return fmt.Sprintf("%02d:%02d:%02d%c%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, point, ms%1000)
}

// segments is the transcript as the podcast namespace's JSON.
func (t Transcript) segments() ([]byte, error) {
	type element struct {
		Speaker string  `json:"speaker,omitempty"`
		Start   float64 `json:"startTime"`
		End     float64 `json:"endTime"`
		Body    string  `json:"body"`
	}
	doc := struct {
		Version  string    `json:"version"`
		Segments []element `json:"segments"`
	}{"1.0.0", []element{}}
	for _, q := range t.ends() {
		doc.Segments = append(doc.Segments, element{q.Speaker, Millis(q.Start), Millis(q.End), q.Text})
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	return append(b, '\n'), err
}

var EscapeMarkdown = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`)

// markdown is the transcript as a page: a paragraph per speaker and minute.
func (t Transcript) markdown(title string) string {
	esc := EscapeMarkdown.Replace
	var b strings.Builder
	b.WriteString("# Transcript")
	if title != "" {
		b.WriteString(": " + esc(title))
	}
	b.WriteByte('\n')
	speaker, since := "", -1.0
	for i, q := range t.Cues {
		switch {
		case i == 0 || q.Speaker != speaker || !t.Timed || q.Start >= since+60:
			b.WriteString("\n")
			if q.Speaker != "" && (i == 0 || q.Speaker != speaker) {
				b.WriteString("**" + esc(q.Speaker) + "** ")
			}
			if t.Timed {
				b.WriteString("(" + Stamp(q.Start) + ") ")
			}
			speaker, since = q.Speaker, q.Start
		default:
			b.WriteByte(' ')
		}
		b.WriteString(esc(q.Text))
		if i+1 == len(t.Cues) || t.Cues[i+1].Speaker != speaker || !t.Timed || t.Cues[i+1].Start >= since+60 {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
