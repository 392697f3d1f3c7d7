// Package transcript reads transcripts in any format, SRT, VTT, JSON or text, repairs
// them, and writes them in each.
//
//	t, err := transcript.Parse(b)
//	for _, cue := range t.Cues {
//
// It is not about audio, which package podcast reads.
package transcript

import (
	"strings"
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
