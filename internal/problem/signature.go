package problem

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

var (
	escapes     = lazyregexp.New(`\x1b\[[0-9;?]*[A-Za-z]`)
	ids         = lazyregexp.New(`\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b`)
	addresses   = lazyregexp.New(`\b0x[0-9a-fA-F]+\b|\b(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}\b`) // of memory and of networks
	hashes      = lazyregexp.New(`\b[0-9a-fA-F]{7,128}\b`)
	clock       = lazyregexp.New(`\b\d{1,4}[-/:]\d{1,2}[-/:]\d{1,4}([T ]\d{2}:\d{2}(:\d{2})?([.,]\d+)?)?(?:\s?(?:Z|[+-]\d{2}:?\d{2}|UTC|[AP]M)\b)?`)
	dates       = lazyregexp.New(`\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:\d{1,2} )?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{1,4}\b`)
	durations   = lazyregexp.New(`\b(?:\d+(?:\.\d+)?(?:ns|µs|us|ms|sec|min|[hms]))+\b`)
	folders     = lazyregexp.New(`(?:[A-Za-z]:)?(?:\.{0,2}[/\\])?(?:[\w.@+~-]+[/\\])+`)
	figures     = lazyregexp.New(`\d+(?:[.,]\d+)*`)
	blanks      = lazyregexp.New(`\s+`)
	significant = lazyregexp.New(`(?i)error|fail|panic|fatal|undefined|cannot|can't|could not|unable|not found|no such|denied|refused|missing|unexpected|expected|invalid|exception|traceback|ENO|EACC|unresolved|mismatch|not ok|want|got`)
)

// Plain is text without the escape sequences of a terminal.
func Plain(text string) string { return escapes.ReplaceAllString(text, "") }

// Normal is a line without what differs between two runs of the same failure:
// directories, figures, times, addresses and hashes.
func Normal(line string) string {
	s := ids.ReplaceAllString(Plain(line), "#")
	for _, re := range []*lazyregexp.Regexp{addresses, dates, clock, folders, durations} {
		with := "#"
		if re == folders {
			with = ""
		}
		s = re.ReplaceAllString(s, with)
	}
	s = hashes.ReplaceAllStringFunc(s, func(h string) string {
		if strings.ContainsAny(h, "0123456789") {
			return "#"
		}
		return h // a word
	})
	s = figures.ReplaceAllString(s, "#")
	return strings.TrimSpace(blanks.ReplaceAllString(s, " "))
}

// mostLines bounds what of an output counts.
const mostLines = 60

// Essence are the lines that tell a failure from another, normalised, each
// once and in alphabetical order: builds that run at once print in any order.
func Essence(output string) string {
	var lines, last []string
	for line := range strings.Lines(Plain(output)) {
		n := Normal(line)
		if n == "" || n == "#" {
			continue
		}
		if significant.MatchString(line) && len(lines) < mostLines {
			lines = append(lines, n)
		}
		if last = append(last, n); len(last) > 5 {
			last = last[1:]
		}
	}
	if len(lines) == 0 {
		lines = last
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}

// Signature identifies a failure of a type by its essence.
func Signature(typ, output string) string {
	sum := sha256.Sum256([]byte(typ + "\x00" + Essence(output)))
	return hex.EncodeToString(sum[:8])
}
