package outputs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// FigurePattern is a number in a text, not a part of a name such as mp3; with a third
// part it is a time.
var FigurePattern = lazyregexp.New(`(^|[^\p{L}\d.,:])(\d+(?:[.,]\d+)*)((?::\d+)*)`)

// FigureUnit matches the suffix of a figure's digits: a unit, an ordinal.
var FigureUnit = lazyregexp.New(`^[\p{L}%‰€$£°]*`)

// PlainFigure writes a number without separators of thousands, and with a point.
func PlainFigure(s string) string {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '.' })
	if len(parts) > 1 && len(parts[0]) <= 3 && !slices.ContainsFunc(parts[1:], func(p string) bool { return len(p) != 3 }) {
		return strings.TrimLeft(strings.Join(parts, ""), "0")
	}
	if len(parts) == 2 {
		if frac := strings.TrimRight(parts[1], "0"); frac != "" {
			return parts[0] + "." + frac
		}
		return parts[0]
	}
	return strings.Join(parts, ".")
}

// AddFigures adds the figures of a text to known, in their plain form: digits, and
// English words.
func AddFigures(text string, known map[string]bool) {
	for _, m := range FigurePattern.FindAllStringSubmatch(text, -1) {
		known[PlainFigure(m[2])] = true
	}
	inWords(text, known)
}

// FigureFamily is the artifacts by which a tool that reads a page passes its figures on.
const FigureFamily = "figures/*"

// PageFigures are the figures of a page, an artifact of [FigureFamily]. Seen names the page as
// requested, At as found.
type PageFigures struct {
	Seen    string   `json:"seen"`
	At      string   `json:"at"`
	Figures []string `json:"figures"`
	More    bool     `json:"more,omitempty"` // than are kept
}

// mostOfPage bounds an artifact, which travels with the state of a job.
const mostOfPage = 1000

// FiguresOfPage finds the figures of a page, and the name of the artifact that they are.
func FiguresOfPage(seen, at, text string) (name string, p PageFigures) {
	known := map[string]bool{}
	AddFigures(text, known)
	p = PageFigures{Seen: seen, At: at, Figures: slices.Sorted(maps.Keys(known))}
	if p.More = len(p.Figures) > mostOfPage; p.More {
		p.Figures = p.Figures[:mostOfPage]
	}
	sum := sha256.Sum256([]byte(seen))
	return strings.TrimSuffix(FigureFamily, "*") + hex.EncodeToString(sum[:6]), p
}

var numerals = map[string]int{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
	"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}

var scales = map[string]int{"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}

// inWords adds the numbers that a text has in English words: "one hundred
// and five", "two point five", and years such as "twenty twenty-six".
func inWords(text string, known map[string]bool) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(" -,.;:!?\"'()", r) })
	total, current, before, in := 0, 0, -1, false
	flush := func() {
		if in {
			known[strconv.Itoa(total+current)] = true
			if before >= 10 && before < 100 && current >= 10 && current < 100 {
				known[strconv.Itoa(before*100+current)] = true
			}
		}
		total, current, in = 0, 0, false
	}
	for i, w := range words {
		v, number := numerals[w]
		scale, scaled := scales[w]
		switch {
		case number && in && (current == 0 && total > 0 || current >= 100 && current%100 == 0 || v > 0 && v < 10 && current%100 >= 20 && current%10 == 0):
			current += v // a thousand and five, a hundred and five, twenty-six
		case number:
			last := current
			flush()
			before, current, in = last, v, true
		case w == "hundred":
			current, in = max(current, 1)*100, true
		case scaled:
			total, current, in = total+max(current, 1)*scale, 0, true
		case w == "and" && in:
		case w == "point" && in && i+1 < len(words):
			if d, ok := numerals[words[i+1]]; ok && d < 10 {
				known[fmt.Sprintf("%d.%d", total+current, d)] = true
			}
			flush()
			before = -1
		default:
			flush()
			before = -1
		}
	}
	flush()
}
