package transcript

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

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
