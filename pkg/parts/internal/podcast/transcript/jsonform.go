package transcript

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A segment is a cue in any of the JSON forms: the podcast namespace's
// (startTime, endTime, body), Whisper's (start, end, text), whisper.cpp's
// (offsets in milliseconds, or timestamps), Amazon's (start_time, transcript) and that of
// YouTube's captions (start, duration).
type segment struct {
	Speaker    json.RawMessage `json:"speaker"`
	StartTime  json.RawMessage `json:"startTime"`
	EndTime    json.RawMessage `json:"endTime"`
	Body       string          `json:"body"`
	Start      json.RawMessage `json:"start"`
	End        json.RawMessage `json:"end"`
	Text       string          `json:"text"`
	Offsets    *span           `json:"offsets"`
	Timestamps *span           `json:"timestamps"`
	Duration   json.RawMessage `json:"duration"`
	Transcript string          `json:"transcript"`
	From       json.RawMessage `json:"start_time"`
	To         json.RawMessage `json:"end_time"`
	Label      string          `json:"speaker_label"`
	unit       float64         // how many of its times are a second; 0 is 1
}

type span struct {
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

// Document is the JSON object around the segments.
type Document struct {
	Segments      []segment `json:"segments"`
	Transcription []segment `json:"transcription"`
	Text          string    `json:"text"`
	Utterances    []segment `json:"utterances"` // AssemblyAI's, in milliseconds
	Results       struct {
		Utterances []segment `json:"utterances"`     // Deepgram's
		Audio      []segment `json:"audio_segments"` // Amazon's
	} `json:"results"`
	Events []struct { // YouTube's
		Start    float64 `json:"tStartMs"`
		Duration float64 `json:"dDurationMs"`
		Segs     []struct {
			Text string `json:"utf8"`
		} `json:"segs"`
	} `json:"events"`
	Monologues []struct { // Rev's
		Speaker  json.RawMessage `json:"speaker"`
		Elements []struct {
			Value string          `json:"value"`
			From  json.RawMessage `json:"ts"`
			To    json.RawMessage `json:"end_ts"`
		} `json:"elements"`
	} `json:"monologues"`
}

// segments returns the segments of the document's form.
func (d *Document) segments() []segment {
	for _, list := range [][]segment{d.Segments, d.Transcription, d.Results.Utterances, d.Results.Audio} {
		if len(list) > 0 {
			return list
		}
	}
	list := d.Utterances
	for i := range list {
		list[i].unit = 1000
	}
	for _, e := range d.Events {
		var text strings.Builder
		for _, s := range e.Segs {
			text.WriteString(s.Text)
		}
		if strings.TrimSpace(text.String()) != "" { // others are the ends of lines
			list = append(list, segment{Text: text.String(), Start: milli(e.Start), Duration: milli(e.Duration), unit: 1000})
		}
	}
	for _, m := range d.Monologues {
		g := segment{Speaker: m.Speaker}
		for _, e := range m.Elements {
			g.Text += e.Value
			if g.Start == nil {
				g.Start = e.From
			}
			if e.To != nil {
				g.End = e.To
			}
		}
		list = append(list, g)
	}
	return list
}

func milli(t float64) json.RawMessage { return strconv.AppendFloat(nil, t, 'f', -1, 64) }

// looksJSON distinguishes a JSON array from text that begins with a bracket, as in
// "[00:01] Hello".
func looksJSON(s string) bool { return json.Valid([]byte(s)) }

func readJSON(s string) (Collector, error) {
	c := Collector{Format: "json"}
	var d Document
	var err error
	if s[0] == '[' {
		err = json.Unmarshal([]byte(s), &d.Segments)
	} else {
		err = json.Unmarshal([]byte(s), &d)
	}
	if err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return c, fmt.Errorf("the transcript begins like JSON and is none: %w (byte %d); give the whole file", err, syntax.Offset)
		}
		return c, fmt.Errorf("the transcript is JSON, but not of a form known here: %w; segments with start, end and text are read, and with startTime, endTime and body", err)
	}
	for _, g := range d.segments() {
		g.Add(&c)
	}
	if len(c.List) == 0 && strings.TrimSpace(d.Text) != "" {
		plain := readPlain(d.Text)
		plain.Format = "json"
		return plain, nil
	}
	if len(c.List) == 0 {
		return c, errors.New("the transcript is JSON without segments; segments with start, end and text are read, and with startTime, endTime and body")
	}
	return c, nil
}

func (g segment) Add(c *Collector) {
	q := Cue{Speaker: cmp.Or(words(g.Speaker), g.Label), Text: cmp.Or(g.Body, g.Text, g.Transcript)}
	from, to, unit := g.StartTime, g.EndTime, cmp.Or(g.unit, 1)
	switch {
	case g.From != nil:
		from, to = g.From, g.To
	case from != nil:
	case g.Start != nil:
		from, to = g.Start, g.End
	case g.Offsets != nil:
		from, to, unit = g.Offsets.From, g.Offsets.To, 1000
	case g.Timestamps != nil:
		from, to = g.Timestamps.From, g.Timestamps.To
	}
	var ok, ok2 bool
	q.Start, ok = number(from, unit)
	if q.End, ok2 = number(to, unit); to == nil {
		q.End, ok2 = number(g.Duration, unit) // it may have neither
		q.End = Millis(q.Start + q.End)
	}
	if !ok || !ok2 {
		c.fault("with times that cannot be read, left out")
		return
	}
	c.Add(q)
}

// number reads a time that is a number or text; none is zero.
func number(raw json.RawMessage, unit float64) (float64, bool) {
	if raw == nil || string(raw) == "null" {
		return 0, true
	}
	s := words(raw)
	if t, ok := ParseTime(s); ok {
		return t, true
	}
	t, err := strconv.ParseFloat(strings.TrimSuffix(s, "s"), 64)
	if err != nil {
		return 0, false
	}
	if t < 0 && t > -maxTime {
		t = 0
	}
	t /= unit
	return Millis(t), Sane(t)
}

// words is a string, or a number as it is written: some call speakers 0 and 1.
func words(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// maxTime is the longest that an episode may be, in seconds. What lies beyond
// is a mistake or an attack, and arithmetic stays exact below it.
const maxTime = 100 * 3600

// clock is a time as transcripts write it: hours may be left out, the fraction
// has a point or a comma, or three digits behind a colon.
var clock = lazyregexp.New(`^(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})(?:[.,](\d{1,9})|:(\d{3}))?$`)

// ParseTime reads 01:02:03.500, 2:03,5 or 2:03 as seconds.
func ParseTime(s string) (float64, bool) {
	m := clock.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, false
	}
	h, _ := strconv.Atoi("0" + m[1]) // digits, or none
	min, _ := strconv.Atoi(m[2])     // digits
	sec, _ := strconv.Atoi(m[3])     // digits
	t := float64(h)*3600 + float64(min)*60 + float64(sec)
	if digits := m[4] + m[5]; digits != "" {
		f, _ := strconv.ParseFloat("0."+digits, 64)
		t += f
	}
	return Millis(t), sec < 60 && t <= maxTime
}

// Millis rounds to what formats can write.
func Millis(t float64) float64 { return math.Round(t*1000) / 1000 }

// Sane reports whether t can be a time in an episode.
func Sane(t float64) bool { return t >= 0 && t <= maxTime } // false for NaN, too

// Stamp writes seconds as 1:02:03, for people.
func Stamp(t float64) string {
	s := int(t)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Seconds writes a time as models read and repeat it without arithmetic.
func Seconds(t float64) string { return strconv.FormatFloat(Millis(t), 'f', -1, 64) }
