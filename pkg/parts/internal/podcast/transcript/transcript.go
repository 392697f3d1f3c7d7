// Package transcript reads transcripts in any format, SRT, VTT, JSON or text, repairs
// them, and writes them in each.
//
//	t, err := transcript.Parse(b)
//	for _, cue := range t.Cues {
//
// It is not about audio, which package podcast reads.
package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// A Transcript is text with times and speakers: the artifact "transcript".
// Times are seconds from the start of the episode.
type Transcript struct {
	Format   string   `json:"format"` // srt, vtt, json or text
	Timed    bool     `json:"timed"`  // whether cues have times
	Duration float64  `json:"duration,omitempty"`
	Speakers []string `json:"speakers"` // in order of appearance
	Cues     []Cue    `json:"cues"`
	Repairs  []string `json:"repairs,omitempty"` // what was wrong with the file, in words
}

// A Cue is a piece of speech.
type Cue struct {
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Speaker string  `json:"speaker,omitempty"`
	Text    string  `json:"text"`
}

// Bounds of a transcript. A hundred hours of speech stay far below them.
const (
	maxCues = 100_000
	maxText = 20_000 // bytes
)

// Collector is a transcript on its way: as the file has it, before cleaning.
type Collector struct {
	Format string
	List   []Cue
	voiced bool // speakers are marked up, not written into the text
	faults map[string]int
	cut    bool
}

func (c *Collector) fault(what string) {
	if c.faults == nil {
		c.faults = map[string]int{}
	}
	c.faults[what]++
}

// Add takes a cue if there is something in it and room for it.
func (c *Collector) Add(q Cue) {
	if len(c.List) >= maxCues {
		c.cut = true
		return
	}
	if len(q.Text) > maxText {
		q.Text = strings.ToValidUTF8(q.Text[:maxText], "")
		c.fault("cut short for its length")
	}
	c.List = append(c.List, q)
}

// Between returns the transcript between two times as plain text.
func (t Transcript) Between(from, to float64) string {
	var out []string
	for _, q := range t.Cues {
		if q.End > from && q.Start < to {
			out = append(out, q.Text)
		}
	}
	return strings.Join(out, " ")
}

// Parse reads a transcript in any format known here. Faults of single
// cues are repaired and listed in Repairs; if nothing is usable, the error is a hint
// what to give.
func Parse(b []byte) (Transcript, error) {
	s := decode(b)
	if pairs.MatchString(s) {
		s = strings.ReplaceAll(pairs.ReplaceAllString(s, "$1 --> $2"), "[br]", "\n")
	}
	s = bracketed.ReplaceAllString(s, "$1 --> $2\n$3\n")
	s = spans.ReplaceAllStringFunc(s, func(line string) string {
		m := spans.FindStringSubmatch(line)
		if !strings.Contains(m[1]+m[2], ".") {
			return line // pages of a book
		}
		from, _ := strconv.ParseFloat(m[1], 64) // digits
		to, _ := strconv.ParseFloat(m[2], 64)
		return cueTime(from, '.') + " --> " + cueTime(to, '.') + "\n" + m[3] + "\n"
	})
	if strings.ContainsRune(s, 0) {
		return Transcript{}, fmt.Errorf("this is not a transcript: it has NUL bytes; give an SRT, VTT, JSON or text file")
	}
	trimmed := strings.TrimSpace(s)
	var (
		c   Collector
		err error
	)
	switch {
	case trimmed == "":
		return Transcript{}, fmt.Errorf("the transcript is empty; give an SRT, VTT, JSON or text file")
	case page.MatchString(trimmed):
		return Transcript{}, fmt.Errorf("the transcript is HTML, which is not read here; give an SRT, VTT, JSON or text file")
	case markup.MatchString(trimmed):
		return Transcript{}, fmt.Errorf("the transcript is XML or ASS, which are not read here; give an SRT, VTT, JSON or text file")
	case table.MatchString(trimmed):
		c = readTable(trimmed)
	case trimmed[0] == '{' || trimmed[0] == '[' && looksJSON(trimmed):
		c, err = readJSON(trimmed)
	case strings.HasPrefix(trimmed, "WEBVTT"):
		c = readCues(s, "vtt")
	case timing.MatchString(s):
		c = readCues(s, "srt")
	default:
		c = readPlain(s)
	}
	if err != nil {
		return Transcript{}, err
	}
	return c.Transcript()
}

// Transcript cleans and orders what was read.
func (c *Collector) Transcript() (Transcript, error) {
	t := Transcript{Format: c.Format, Speakers: []string{}, Cues: []Cue{}}
	if c.Format == "srt" || c.Format == "vtt" {
		var list []Cue
		for _, q := range c.List {
			list = append(list, q.voices()...)
		}
		c.List = list
	}
	for i := range c.List {
		q := &c.List[i]
		q.clean(c.Format)
		c.voiced = c.voiced || q.Speaker != ""
		if q.Start > 0 || q.End > 0 {
			t.Timed = true
		}
	}
	if !c.voiced {
		split(c.List)
	}
	if t.Timed {
		c.order()
	}
	c.List = slices.DeleteFunc(c.List, func(q Cue) bool { return q.Text == "" })
	c.unroll()
	for _, q := range c.List {
		t.Cues = append(t.Cues, q)
		t.Duration = max(t.Duration, q.End)
	}
	t.listSpeakers()
	for _, what := range slices.Sorted(maps.Keys(c.faults)) {
		t.Repairs = append(t.Repairs, spelling.Plural(c.faults[what], "cue")+" "+what)
	}
	if len(t.Cues) == 0 {
		return Transcript{}, fmt.Errorf("no speech was found in the transcript (read as %s%s); check that the file is whole", c.Format, strings.Join(append([]string{""}, t.Repairs...), "; "))
	}
	if c.cut {
		t.Repairs = append(t.Repairs, fmt.Sprintf("only the first %d cues were read", maxCues))
	}
	return t, nil
}

// order sorts cues by their times and repairs times that cannot be.
func (c *Collector) order() {
	for i := range c.List {
		q := &c.List[i]
		if i > 0 && q.Start < c.List[i-1].Start {
			c.fault("out of order, sorted")
		}
		if q.End < q.Start {
			c.fault("ended before they began, times swapped")
			q.Start, q.End = q.End, q.Start
		}
	}
	slices.SortStableFunc(c.List, func(a, b Cue) int { return cmp.Compare(a.Start, b.Start) })
	end := 0.0
	for i := range c.List {
		if c.List[i].Start < end-0.001 {
			c.fault("overlapping, kept as they are")
		}
		end = max(end, c.List[i].End)
	}
}

// unroll takes out what captions that scroll say twice: the lines, and the beginning of
// a line that grows, that the cue before has shown already. That a speaker says the same
// twice is left alone unless the file scrolls, which most of its cues show: they go on
// with more than they repeat, or stand for a moment only.
func (c *Collector) unroll() {
	scrolls, least := 0, 3
	for i := 1; i < len(c.List); i++ {
		before, q := c.List[i-1], c.List[i]
		n, grown := repeated(before, q)
		if grown > 0 || n > 0 && (n <= strings.Count(q.Text, "\n") || flash(before) || flash(q)) {
			scrolls++
		}
	}
	if c.Format == "vtt" {
		least = 2 // where captions scroll most
	}
	whole := scrolls >= least && scrolls*2 >= len(c.List)
	out := c.List[:0]
	var before Cue // as the file has it
	for i, q := range c.List {
		shown := q
		if i > 0 && len(out) > 0 {
			n, grown := repeated(before, q)
			lines := strings.SplitAfter(q.Text, "\n")
			switch {
			case n == len(lines) && (whole || flash(before) || flash(q)):
				out[len(out)-1].End = max(out[len(out)-1].End, q.End)
				c.fault("repeated, joined")
				before = shown
				continue
			case n > 0 && whole:
				c.fault("repeated, joined")
				q.Text = strings.Join(lines[n:], "")
			case grown > 0 && whole:
				c.fault("repeated, joined")
				q.Text = q.Text[grown:]
			}
		}
		before = shown
		out = append(out, q)
	}
	for i := range out {
		out[i].Text = strings.Join(strings.Fields(out[i].Text), " ")
	}
	c.List = out
}

// flash reports whether a cue stands too short to be read.
func flash(q Cue) bool { return q.End > 0 && q.End-q.Start < 0.1 }

// repeated returns the number of lines at the beginning of a cue that end the cue right
// before it, or else the number of bytes of its first line that are the last line before.
func repeated(before, q Cue) (lines, grown int) {
	if before.Speaker != q.Speaker || q.Start > before.End+0.1 || before.Text == "" {
		return 0, 0
	}
	old, now := strings.Split(before.Text, "\n"), strings.Split(q.Text, "\n")
	for n := min(len(old), len(now)); n > 0; n-- {
		if slices.Equal(old[len(old)-n:], now[:n]) {
			return n, 0
		}
	}
	if last := old[len(old)-1]; strings.HasPrefix(now[0], last+" ") {
		return 0, len(last) + 1
	}
	return 0, 0
}

// fillers match a whole word that carries no meaning, by language: "um" is a
// filler in English and a preposition in German.
var fillers = map[string]*lazyregexp.Regexp{
	"en": lazyregexp.New(`^(?:u+h+m*|u+m+|e+r+m+|h+m+|m{2,}h*)$`),
	"de": lazyregexp.New(`^(?:ä+h*m*|ö+h*m*|h+m+|m{2,}h*)$`),
	"fr": lazyregexp.New(`^(?:e+u+h+|h+e+u+|h+u+m+|m{2,}h*)$`),
	"es": lazyregexp.New(`^(?:e+h{2,}m*|e+m{2,}|m{2,}h*)$`),
}

// fillersOfJapanese are parts of a text without spaces, longest first.
var fillersOfJapanese = lazyregexp.New(`(?:えー+っ?と|えっと|えーと|あのー+|そのー+|うーん+|えー+)[、,]?`)

// DropFillers removes the fillers of a language from all cues, and cues that
// hold nothing else. It returns how many fillers it removed.
func (t *Transcript) DropFillers(language string) int {
	total := 0
	for i := range t.Cues {
		q := &t.Cues[i]
		n := 0
		if q.Text, n = withoutFillers(q.Text, language); n > 0 {
			total += n
		}
	}
	t.Cues = slices.DeleteFunc(t.Cues, func(q Cue) bool { return q.Text == "" })
	return total
}

func withoutFillers(s, language string) (string, int) {
	if language == "ja" {
		n := len(fillersOfJapanese.FindAllString(s, -1))
		return strings.TrimSpace(fillersOfJapanese.ReplaceAllString(s, "")), n
	}
	match := fillers[language]
	words := strings.Fields(s)
	kept := words[:0:0]
	n, sentence, raise := 0, true, false // at the start of a sentence; the next word becomes its first
	for _, w := range words {
		bare := strings.ToLower(strings.TrimFunc(w, unicode.IsPunct))
		end := strings.TrimRight(w[len(strings.TrimRight(w, ".?!…")):], "…")
		if match.MatchString(bare) {
			n++
			raise = raise || sentence && upper(w)
			if end != "" && len(kept) > 0 && !sentence {
				kept[len(kept)-1] = strings.TrimRight(kept[len(kept)-1], ",;:–-") + end
				sentence = true
			}
			continue
		}
		if raise {
			w, raise = capitalized(w), false
		}
		kept, sentence = append(kept, w), end != ""
	}
	return strings.Join(kept, " "), n
}

func upper(s string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(s, unicode.IsPunct))
	return unicode.IsUpper(r)
}

func capitalized(s string) string {
	at := len(s) - len(strings.TrimLeftFunc(s, unicode.IsPunct))
	r, n := utf8.DecodeRuneInString(s[at:])
	return s[:at] + string(unicode.ToUpper(r)) + s[at+n:]
}

// A SpeakerName gives a speaker of the transcript another name.
type SpeakerName struct {
	Label string `json:"label" jsonschema:"description=As the transcript has it; empty for none"`
	Name  string `json:"name" jsonschema:"description=Name to show"`
}

// Rename gives speakers their names. It returns the labels that no cue has.
func (t *Transcript) Rename(names []SpeakerName) (unknown []string) {
	for _, n := range names {
		found := false
		for i := range t.Cues {
			if strings.EqualFold(t.Cues[i].Speaker, Label(n.Label)) {
				t.Cues[i].Speaker, found = Label(n.Name), true
			}
		}
		if !found {
			unknown = append(unknown, n.Label)
		}
	}
	t.listSpeakers()
	return unknown
}

// listSpeakers collects the speakers in order of appearance.
func (t *Transcript) listSpeakers() {
	t.Speakers = []string{}
	for _, q := range t.Cues {
		if q.Speaker != "" && !slices.Contains(t.Speakers, q.Speaker) && len(t.Speakers) < 200 {
			t.Speakers = append(t.Speakers, q.Speaker)
		}
	}
}

// cp1252 has Windows' characters where Latin-1 has control characters; zero where it has
// nothing.
var cp1252 = [32]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

// decode makes text of a file in whatever encoding subtitles come: UTF-8 and
// UTF-16 with and without a mark, else Windows-1252. Line ends become \n.
func decode(b []byte) string {
	var s string
	switch {
	case bytes.HasPrefix(b, []byte{0xef, 0xbb, 0xbf}):
		s = strings.ToValidUTF8(string(b[3:]), "\uFFFD")
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		s = wide(b[2:], 0)
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		s = wide(b[2:], 1)
	case zeros(b, 1):
		s = wide(b, 0)
	case zeros(b, 0):
		s = wide(b, 1)
	case utf8.Valid(b):
		s = string(b)
	case mostlyUTF8(b):
		s = strings.ToValidUTF8(string(b), "\uFFFD")
	default:
		s = decodeCP1252(b)
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(s, "\r", "\n")
}

// wide reads UTF-16; low is the index of a pair's low byte.
func wide(b []byte, low int) string {
	units := make([]uint16, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		units = append(units, uint16(b[i+low])|uint16(b[i+1-low])<<8)
	}
	return string(utf16.Decode(units))
}

// zeros reports whether every other byte, from the given one, is often zero, and no
// other byte is: UTF-16 without a mark, of any language, since times and line ends are ASCII.
func zeros(b []byte, from int) bool {
	b = b[:min(len(b), 400)]
	if len(b) < 8 {
		return false
	}
	n, other := 0, 0
	for i, c := range b {
		if c == 0 && i%2 == from {
			n++
		} else if c == 0 {
			other++
		}
	}
	return other == 0 && n*4 >= len(b)/2
}

// mostlyUTF8 reports whether b is UTF-8 but for a few broken bytes, rather than
// another encoding.
func mostlyUTF8(b []byte) bool {
	good, bad := 0, 0
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			bad++
		} else if n > 1 {
			good++
		}
		b = b[n:]
	}
	return good > 4*bad
}

func decodeCP1252(b []byte) string {
	var s strings.Builder
	s.Grow(len(b) + len(b)/8)
	for _, c := range b {
		r := rune(c)
		if c >= 0x80 && c < 0xa0 {
			if r = cp1252[c-0x80]; r == 0 {
				r = utf8.RuneError
			}
		}
		s.WriteRune(r)
	}
	return s.String()
}

var (
	// at is a line that begins with a time, in brackets or not.
	at = lazyregexp.New(`^(?:[\[(]((?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)[\])](?:\s*[-–—]\s+)?\s*|((?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)(?: ?[AP]\.?M\b\.?)?(?:\s*[-–—]\s+|\s+|$))(.*)$`)
	// label is a line of LRC about the file.
	label = lazyregexp.New(`^\[(?:ti|ar|al|au|by|re|ve|la|length|offset|tool):[^\]]*\]$`)
	// page is the beginning of a page, or of the HTML that podcasts publish.
	page = lazyregexp.New(`(?i)^<(?:!doctype html|html|head|body|cite|time|p)[\s>]`)
	// markup is the beginning of a file for programs: TTML and its like, and ASS.
	markup = lazyregexp.New(`(?i)^(?:<\?xml\s|<tt[\s>:]|<transcript[\s>]|<timedtext[\s>]|\[script info\])`)
	// table is the first line of Whisper's table, whose times are milliseconds.
	table = lazyregexp.New(`^start\tend\ttext\s*\n`)
	// strong is Markdown's emphasis of what a line begins with.
	strong = lazyregexp.New(`^(\*\*|__)([^*_\s][^*_]{0,60})(?:\*\*|__)`)
	// said is a line with a speaker, a time and words, as in "Ann [0:03]: Hello".
	said = lazyregexp.New(`^(\p{L}[\p{L}\p{M}\d .'’-]{0,60}?)[ \t]*[\[(]((?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)[\])]:[ \t]+(.*)$`)
	// by is a line with a speaker and a time, as in "Ann Lee  00:01:02".
	by = lazyregexp.New(`^(\p{L}[\p{L}\p{M}\d .'’-]{0,60}?)[ \t]*(?:[|,•·][ \t]*)?[\[(]?((?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)[\])]?:?$`)
)

// readTable reads Whisper's table.
func readTable(s string) Collector {
	c := Collector{Format: "text"}
	for line := range strings.Lines(s) {
		row := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(row) < 3 || row[0] == "start" {
			continue
		}
		segment{Offsets: &span{From: json.RawMessage(row[0]), To: json.RawMessage(row[1])}, Text: row[2]}.Add(&c)
	}
	return c
}

// readPlain reads text: paragraphs, or lines with a time before them.
func readPlain(s string) Collector {
	c := Collector{Format: "text"}
	var q Cue
	timed := false
	flush := func() {
		if strings.TrimSpace(q.Text) != "" {
			c.Add(q)
		}
		q = Cue{}
	}
	for line := range strings.SplitSeq(s, "\n") {
		line = strong.ReplaceAllString(strings.TrimSpace(line), "$2")
		if label.MatchString(line) {
			continue
		}
		if m := at.FindStringSubmatch(line); m != nil {
			if t, ok := ParseTime(m[1] + m[2]); ok {
				flush()
				q, timed = Cue{Start: t, Text: m[3] + "\n"}, true
				continue
			}
		}
		if m := said.FindStringSubmatch(line); m != nil {
			if t, ok := ParseTime(m[2]); ok {
				flush()
				q, timed = Cue{Start: t, Speaker: m[1], Text: m[3] + "\n"}, true
				continue
			}
		}
		if m := by.FindStringSubmatch(line); m != nil {
			if t, ok := ParseTime(m[2]); ok {
				flush()
				q, timed = Cue{Start: t, Speaker: strings.TrimRight(m[1], " -:"), Text: "\n"}, true
				continue
			}
		}
		if line == "" && !timed || speakerLine.MatchString(line) && !timed {
			flush()
		}
		if len(q.Text) <= maxText {
			q.Text += line + "\n"
		}
	}
	flush()
	// A line has only its start; it lasts until the next one.
	for i := range c.List {
		if c.List[i].End = c.List[i].Start; timed && i+1 < len(c.List) {
			c.List[i].End = max(c.List[i].Start, c.List[i+1].Start)
		}
	}
	return c
}
