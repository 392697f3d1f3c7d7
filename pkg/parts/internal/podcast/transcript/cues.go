package transcript

import (
	"html"
	"strings"
	"unicode"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// stamp is a time in such a line. Programs that translate or lay out a text put blanks into
// it, or signs of full width.
const stamp = `-?[0-9:.,](?:[ \t]*[:.,：，．][ \t]*[0-9]|[0-9:.,：，．]){3,20}`

// timing is the line above a cue in SRT and VTT. Word processors and pages change its arrow.
var timing = lazyregexp.New(`(?m)^[ \t]*(` + stamp + `)[ \t]*(?:[-–—]+(?:>|&gt;)|[→⟶⇒])[ \t]*(` + stamp + `)(?:[ \t].*)?$`)

var narrow = strings.NewReplacer(" ", "", "\t", "", "：", ":", "，", ",", "．", ".")

// pairs is the line above a cue in SBV.
var pairs = lazyregexp.New(`(?m)^(\d{1,2}:\d\d:\d\d\.\d{3}),(\d{1,2}:\d\d:\d\d\.\d{3})$`)

// bracketed is a line of what Whisper prints: times in brackets, and words behind them.
var bracketed = lazyregexp.New(`(?m)^\[((?:\d{1,3}:)?\d{1,2}:\d\d[.,]\d{3})[ \t]*-->[ \t]*((?:\d{1,3}:)?\d{1,2}:\d\d[.,]\d{3})\][ \t]*(.*)$`)

// spans is such a line with seconds, as faster-whisper and programs that find speakers print it.
var spans = lazyregexp.New(`(?m)^\[[ \t]*(\d{1,6}(?:\.\d{1,3})?)s?[ \t]*(?:-{1,2}>|[-–→])[ \t]*(\d{1,6}(?:\.\d{1,3})?)s?[ \t]*\][ \t]*(.*)$`)

// readCues reads SRT and VTT: blocks of lines, in each a line with times and
// below it text. Blocks without times are counters, notes, styles and regions.
func readCues(s, format string) Collector {
	c := Collector{Format: format}
	var q *Cue
	note := false // inside of a block that is not speech
	flush := func() {
		if q != nil {
			c.Add(*q)
		}
		q = nil
	}
	var held string // a line that may be the counter of the next cue
	for line := range strings.SplitSeq(s, "\n") {
		blank := strings.TrimSpace(line) == "" && (format != "vtt" || line == "")
		switch m := timing.FindStringSubmatch(line); {
		case m != nil:
			flush()
			note, held = false, ""
			start, ok := ParseTime(narrow.Replace(strings.TrimPrefix(m[1], "-")))
			end, ok2 := ParseTime(narrow.Replace(strings.TrimPrefix(m[2], "-")))
			if !ok || !ok2 {
				c.fault("with times that cannot be read, left out")
				note = true
				continue
			}
			if m[1][0] == '-' || m[2][0] == '-' {
				c.fault("with negative times, set to zero")
				if m[1][0] == '-' {
					start = 0
				}
				if m[2][0] == '-' {
					end = 0
				}
			}
			q = &Cue{Start: start, End: end}
		case blank:
			// SRT is often written with empty lines inside of a cue: text that
			// follows belongs to it unless a counter and a time do.
			note = false
			if format == "vtt" {
				flush()
			}
		case note || q == nil && format == "vtt" && keyword(line):
			note = true
		case q != nil && strings.TrimSpace(line) != "":
			if held != "" {
				q.Text += held + "\n"
				held = ""
			}
			if format == "srt" && counter(line) {
				held = line
				continue
			}
			if len(q.Text) <= maxText {
				q.Text += line + "\n"
			}
		}
	}
	if q != nil && held != "" {
		q.Text += held
	}
	flush()
	return c
}

func keyword(line string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return word == "NOTE" || word == "STYLE" || word == "REGION"
}

// counter is the number that SRT puts above a cue. It may be speech as well:
// that is known once the next line is.
func counter(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && len(line) < 8 && strings.TrimLeft(line, "0123456789") == ""
}

var (
	voice    = lazyregexp.New(`(?i)<v(?:\.[^\s<>]*)?[ \t]+([^<>\n]{1,200})>`)
	tag      = lazyregexp.New(`(?i)</?(?:v|c|i|b|u|s|em|strong|font|span|lang|ruby|rt|rp|br)(?:[.\s][^<>]*)?/?>|<\d[\d:.]{3,15}>`)
	reading  = lazyregexp.New(`<rt>[^<]*(?:</rt>)?`)         // of the signs before it
	override = lazyregexp.New(`\{\\[^{}]*\}|\{[yY]:[a-z]\}`) // of ASS, as SRT files often have them
	spaces   = lazyregexp.New(`[ \t\p{Zs}]+`)
)

var voiceEnd = lazyregexp.New(`(?i)</v>`)

// voices divides a cue at its spans of voices: each voice has a cue, and so have words
// outside of them, which nobody is named for. The time is divided by the length of what
// is said.
func (q Cue) voices() []Cue {
	marks := voice.Regexp().FindAllStringSubmatchIndex(q.Text, -1)
	if marks == nil {
		return []Cue{q}
	}
	var out []Cue
	size := 0
	add := func(text, speaker string) {
		if strings.TrimSpace(tag.ReplaceAllString(text, "")) != "" {
			out = append(out, Cue{Text: text, Speaker: Label(speaker)})
			size += len(text)
		}
	}
	add(q.Text[:marks[0][0]], q.Speaker)
	for i, m := range marks {
		end := len(q.Text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		said, after := q.Text[m[1]:end], ""
		if at := voiceEnd.Regexp().FindStringIndex(said); at != nil {
			said, after = said[:at[0]], said[at[1]:]
		}
		add(said, q.Text[m[2]:m[3]])
		add(after, "")
	}
	at := q.Start
	for i := range out {
		out[i].Start = at
		at += (q.End - q.Start) * float64(len(out[i].Text)) / float64(size)
		out[i].End = at
	}
	if len(out) > 0 {
		out[len(out)-1].End = q.End
	}
	return out
}

// clean takes markup and what cannot be printed out of a cue.
func (q *Cue) clean(format string) {
	s := q.Text
	if format == "srt" || format == "vtt" {
		s = tag.ReplaceAllStringFunc(reading.ReplaceAllStringFunc(s, dropMarkup), dropMarkup)
		s = override.ReplaceAllStringFunc(s, dropMarkup)
		s = strings.NewReplacer(`\N`, "\n", `\h`, " ").Replace(s)
		s = html.UnescapeString(s)
	}
	s = Printable(s)
	lines := strings.Split(s, "\n")
	kept := lines[:0]
	for _, l := range lines {
		if l = strings.TrimSpace(spaces.ReplaceAllString(l, " ")); l != "" {
			kept = append(kept, l)
		}
	}
	q.Text = strings.Join(kept, "\n")
	q.Speaker = Label(q.Speaker)
}

// maxMarkup is the length of the longest tag that is taken for one; what is
// longer between two brackets is speech.
const maxMarkup = 500

func dropMarkup(tag string) string {
	if len(tag) > maxMarkup {
		return tag
	}
	return ""
}

// Printable drops control and format characters: marks of direction, too,
// which could make a line read as another. Joiners stay, of which letters and emoji are made.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\u200c' || r == '\u200d' {
			return r
		}
		if r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Label makes a name of what a file calls a speaker.
func Label(s string) string {
	s = strings.Join(strings.Fields(Printable(html.UnescapeString(s))), " ")
	if len(s) > 100 {
		s = strings.ToValidUTF8(s[:100], "")
	}
	return s
}

// speakerLine is a line that begins with its speaker.
var speakerLine = lazyregexp.New(`^(?:(>>|-)\s*)?\[?([\p{Lu}\p{Lo}][\p{L}\p{M}\d._'’-]{0,30}(?: [\p{Lu}\p{Lo}\d][\p{L}\p{M}\d._'’-]{0,30}){0,3})\]?(?: ?\([^()]{1,20}\))?\s?:\s+(.*)$`)

// split finds speakers that are written into the text, as in "Ann: Hello". A
// name counts if it comes back, or if most of the text is written that way: a
// single "Note: …" is no speaker.
func split(list []Cue) {
	count := map[string]int{}
	begun := 0
	for _, q := range list {
		if m := speakerLine.FindStringSubmatch(firstLine(q.Text)); m != nil {
			count[m[2]]++
			begun++
		}
	}
	current := ""
	for i := range list {
		q := &list[i]
		line := firstLine(q.Text)
		m := speakerLine.FindStringSubmatch(line)
		switch {
		case m != nil && (m[1] == ">>" || count[m[2]] > 1 || begun*2 >= len(list)):
			current = m[2]
			q.Text = m[3] + q.Text[len(line):]
		case strings.HasPrefix(line, ">>"):
			current = "" // another speaker, without a name
			q.Text = strings.TrimSpace(strings.TrimLeft(q.Text, ">"))
		}
		q.Speaker = current
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
