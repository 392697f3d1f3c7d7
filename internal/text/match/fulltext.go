package match

import (
	"math"
	"strings"
	"unicode"
)

const (
	shortest = 2  // runes of a word that counts
	mostLong = 40 // runes of a word
	// Most bounds the number of words of a text that count, from its start.
	Most = 64
)

// Words returns the words of a text in lower case, each once, in order. They have letters and
// digits only, as FTS5 splits texts.
func Words(text string) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range split(text) {
		if len(out) < Most && !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

func split(text string) (out []string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if n := len([]rune(w)); n >= shortest && n <= mostLong {
			out = append(out, w)
		}
	}
	return out
}

// AnyWord returns an FTS5 query for texts that have one of the words, or "" without words, since
// FTS5 takes no empty query. Nothing in a word is an operator.
func AnyWord(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
	}
	return strings.Join(quoted, " OR ")
}

// SharedWords returns the fraction of the words, 0 to 1, that two lists have in common.
func SharedWords(a, b []string) float64 {
	in := map[string]bool{}
	for _, w := range a {
		in[w] = true
	}
	both := 0
	for _, w := range b {
		if in[w] {
			both++
		}
	}
	if all := len(a) + len(b) - both; all > 0 {
		return float64(both) / float64(all)
	}
	return 0
}

// BM25 scores texts for words as FTS5 does, for use without FTS5: higher is more similar, 0 is
// nothing in common.
func BM25(words, texts []string) []float64 {
	const k1, b = 1.2, 0.75
	counts := make([]map[string]int, len(texts))
	lengths, mean := make([]float64, len(texts)), 0.0
	in := map[string]float64{}
	for i, t := range texts {
		counts[i] = map[string]int{}
		for _, w := range split(t) {
			counts[i][w]++
			lengths[i]++
		}
		for w := range counts[i] {
			in[w]++
		}
		mean += lengths[i] / float64(len(texts))
	}
	scores := make([]float64, len(texts))
	for _, w := range words {
		n := float64(len(texts))
		idf := math.Max(1e-6, math.Log((n-in[w]+0.5)/(in[w]+0.5)))
		for i := range texts {
			if f := float64(counts[i][w]); f > 0 {
				scores[i] += idf * f * (k1 + 1) / (f + k1*(1-b+b*lengths[i]/mean))
			}
		}
	}
	return scores
}
