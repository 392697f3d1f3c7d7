package secret

import (
	"slices"
	"strings"
)

// What a name says around the word token. A name is one of data if every other word of it
// is known to be said of data and one of them says of what: a name that has a word more,
// such as FB_PAGE_TOKEN, stays one of a secret.
const (
	// places are words for a place in a list or a stream, which the next request names.
	places = " page pagination paging paginator next prev previous cursor continuation continue resume sync delta scroll position start end last marker stop begin first after before forward forwards backward backwards skip sequence idempotency dedup deduplication "
	// values are words for a value in a design or in a text that a model reads.
	values = " design color colour theme spacing font style radius shadow typography eos bos pad unk sep cls mask eot sot eod special max min num total "
	// beside are words that stand with those and say nothing alone.
	beside = " new batch list result results item items record records event events change changes query search upload of the per "
	// capital are those of them that say so in capitals too: SYNC_TOKEN is a variable, and
	// what variables name is mostly secret.
	capital = " next prev previous cursor continuation pagination after before skip eos bos pad unk sep cls mask max min "
	// behind are words behind token that say it is no secret that is named.
	behind = " ids count counts type types class len length limit budget usage size index family font weight height color colour spacing radius shadow theme style "
)

// lookback is how much of a name before the word token is known, in bytes.
const lookback = 64

// dataName reports whether the name that has the word token where before ends names data:
// rest is what stands from there on, value what is assigned.
func dataName(before, rest, value string) bool {
	end := 0
	for end < len(rest) && ident[rest[end]] {
		end++
	}
	if rest = rest[:end]; len(rest) < len("token") || !strings.EqualFold(rest[:len("token")], "token") {
		return false
	}
	front := before[trailing(before):]
	if len(front) == lookback {
		return false // nobody knows how it begins
	}
	front = strings.TrimLeft(front[strings.LastIndexByte(front, '.')+1:], "-_")
	back, _, _ := strings.Cut(rest[len("token"):], ".")
	for _, stem := range []string{"iz", "isa", "ise", "isi"} {
		if strings.HasPrefix(strings.ToLower(back), stem) && !strings.HasPrefix(back, "I"+stem[1:]) {
			return true // another word: tokenizer, tokenisation
		}
	}
	if back != "" && strings.ContainsRune("sS", rune(back[0])) && (len(back) == 1 || strings.ContainsRune("_-", rune(back[1])) || back[1] < 'a') {
		back = back[1:] // tokens
	}
	if back != "" && back[0] >= 'a' {
		return false // a word of its own, as tokenvalue
	}
	if front == "client" || front == "Client" {
		// A name for what is asked for, so that it is done once; Vault's client_token is a key.
		return back == "" && rest[1] == 'o' && len(value) < window
	}
	front = strings.TrimPrefix(strings.TrimPrefix(front, "x-"), "X-")
	if rest[1] == 'O' && !slices.ContainsFunc(splitWords(front), func(w string) bool { return contains(capital, w) }) {
		return false
	}
	said, after := wordsIn(front, places, values, beside), wordsIn(back, behind)
	return said >= 0 && after >= 0 && said+after > 0
}

func contains(list, word string) bool { return strings.Contains(list, " "+strings.ToLower(word)+" ") }

// trailing is where the name at the end of s begins.
func trailing(s string) int {
	i := len(s)
	for i > 0 && ident[s[i-1]] {
		i--
	}
	switch {
	case i > 0 && s[i-1] == '%': // %24skiptoken
		i = min(i+2, len(s))
	case i > 0 && i < len(s) && s[i-1] == '\\' && strings.IndexByte("ntr", s[i]) >= 0:
		i++
	}
	return i
}

// wordsIn counts the words of part of a name that the lists have, but for those that
// [beside] has; less than 0 if there is one that none has.
func wordsIn(name string, lists ...string) (n int) {
	for _, word := range splitWords(name) {
		found := false
		for _, list := range lists {
			if contains(list, word) {
				if found = true; list != beside {
					n++
				}
			}
		}
		if !found {
			return -1
		}
	}
	return n
}

// splitWords are the words of a name in any spelling.
func splitWords(name string) (words []string) {
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' }) {
		at := 0
		for i := 1; i < len(part); i++ {
			small := part[i-1] >= 'a' || i+1 < len(part) && part[i+1] >= 'a'
			if part[i] >= 'A' && part[i] <= 'Z' && small {
				words, at = append(words, part[at:i]), i
			}
		}
		words = append(words, part[at:])
	}
	return words
}
