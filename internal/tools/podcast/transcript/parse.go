package transcript

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Parse reads a transcript in any format known here. Faults of single
// cues are repaired and listed in Repairs; if nothing is usable, the error is a hint
// what to give.
func Parse(b []byte) (Transcript, error) {
	s := decode(b)
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
	if len(t.Cues) == 0 {
		return Transcript{}, fmt.Errorf("no speech was found in the transcript (read as %s); check that the file is whole", c.Format)
	}
	for _, what := range slices.Sorted(maps.Keys(c.faults)) {
		t.Repairs = append(t.Repairs, fmt.Sprintf("%d cues %s", c.faults[what], what))
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

// repeated is how many lines a cue begins with that the one right before it ends with,
// and else how many bytes of its first line are the last line before.
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
