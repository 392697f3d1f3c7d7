package transcript

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A segment is a cue in any of the JSON forms: the podcast namespace's
// (startTime, endTime, body), Whisper's (start, end, text) and whisper.cpp's
// (offsets in milliseconds, or timestamps).
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
}

type span struct {
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

// Document is what holds the segments.
type Document struct {
	Segments      []segment `json:"segments"`
	Transcription []segment `json:"transcription"`
	Text          string    `json:"text"`
}

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
	list := d.Segments
	if list == nil {
		list = d.Transcription
	}
	for _, g := range list {
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
	q := Cue{Speaker: words(g.Speaker), Text: g.Body}
	q.Text = cmp.Or(q.Text, g.Text)
	from, to, unit := g.StartTime, g.EndTime, 1.0
	switch {
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
		q.End = q.Start // it does not say
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
