package podcast

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/tools/internal/outputs"
	"github.com/adroit-run/adroit/internal/tools/podcast/transcript"
)

// unverified lists the figures of the notes that are not in the transcript,
// as digits or in English words.
func (n showNotes) unverified(t transcript.Transcript) []string {
	inTranscript := map[string]bool{}
	for _, q := range t.Cues {
		outputs.AddFigures(q.Text, inTranscript)
	}
	texts := []string{n.Summary}
	for _, topic := range n.Topics {
		texts = append(texts, topic.Text)
	}
	var out []string
	for _, text := range texts {
		for _, m := range outputs.FigurePattern.FindAllStringSubmatch(text, -1) {
			if m[3] == "" && !inTranscript[outputs.PlainFigure(m[2])] && !slices.Contains(out, m[2]) {
				out = append(out, m[2])
			}
		}
	}
	return out
}

// marked puts a mark behind the figures that are not verified.
func (n showNotes) marked(s string) string {
	if len(n.Unverified) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, m := range outputs.FigurePattern.Regexp().FindAllStringSubmatchIndex(s, -1) {
		if m[6] != m[7] || !slices.Contains(n.Unverified, s[m[4]:m[5]]) {
			continue
		}
		end := m[5] + len(outputs.FigureUnit.FindString(s[m[5]:]))
		b.WriteString(s[at:end] + " (unverified)")
		at = end
	}
	return b.String() + s[at:]
}

// warning names the marked figures to the model, "" if there are none.
func (n showNotes) warning() string {
	if len(n.Unverified) == 0 {
		return ""
	}
	return fmt.Sprintf("\nNot in the transcript, so marked as unverified: %s. Correct these figures or leave them out.", strings.Join(n.Unverified, "; "))
}
