package edit

import (
	"errors"
	"regexp"
	"strings"
)

// Check refuses the edits that are wrong whatever the file holds.
func Check(old, replacement string) error {
	switch {
	case old == "":
		return errors.New("old is empty: give the text to replace, or use write_file for a new file")
	case old == replacement:
		return errors.New("old and new are the same: nothing would change")
	}
	if l := omission(old, replacement); l != "" {
		return errors.New("new leaves code out (" + strings.TrimSpace(l) + "): write every line in full, or edit a smaller piece")
	}
	return nil
}

// An omission is a comment that stands for code which is not there: "... rest
// of the code", "existing code", "unchanged ...". Without a comment sign it
// needs more words, because "...rest" is JavaScript.
var omissions = []*regexp.Regexp{
	regexp.MustCompile(`(?i)^\s*` + sign + `[\s(\[]*(\.\.\.|…).*\b(rest|existing|remaining|remainder|unchanged|same|previous|other|omitted)\b`),
	regexp.MustCompile(`(?i)^\s*` + sign + `[\s(\[]*(the\s+)?(rest of|existing|remaining|unchanged|same as|other)\b.{0,60}(\.\.\.|…)`),
	regexp.MustCompile(`(?i)^\s*` + sign + `\s*(the\s+)?(rest of (the )?(code|file|function|method|class|implementation)|existing (code|implementation)|(code|rest) (is |remains |stays )?(unchanged|omitted)|same as before|unchanged code)\s*(goes )?(here|as before|unchanged|remains)?[^a-z]*$`),
	regexp.MustCompile(`(?i)^\s*[(\[]?(\.\.\.|…)\s*[(\[]?(the )?(rest of|existing (code|lines)|remaining (code|lines)|unchanged|same as before)\b`),
}

const sign = `(//|#|/\*+|<!--|--|;|\{/\*)`

func omission(old, replacement string) string {
	have := map[string]bool{}
	for l := range strings.SplitSeq(old, "\n") {
		have[trim(l)] = true
	}
	for l := range strings.SplitSeq(replacement, "\n") {
		if have[trim(l)] {
			continue
		}
		for _, re := range omissions {
			if re.MatchString(l) {
				return l
			}
		}
	}
	return ""
}
