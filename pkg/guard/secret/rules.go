package secret

import (
	"math"
	"slices"
	"strings"
)

// An answer is a rule's decision about the text so far.
type answer int

const (
	no answer = iota
	yes
	more // it depends on what follows
)

// A verdict is an answer, where the secret begins, how much of it has been
// judged, and what to drop behind that.
type verdict struct {
	answer
	from, n int
	rest    matcher
}

// A rule recognises a shape behind its fixed beginning. match is given the text
// from the beginning on and the beginning's length; whole asks for the whole
// secret to be judged if that is possible. It may say yes or no only if no
// continuation changes that, and looks at a bounded piece of text.
type rule struct {
	kind  string
	word  bool // it begins a word
	match func(s string, lead int, final, whole bool) verdict
}

// window bounds the text that a rule examines, in bytes; wide is the bound if the whole
// secret is asked for.
const (
	window = 64
	wide   = 512
)

// extent counts the bytes of c from s[at] on, at most limit. open means that
// there could be more.
func extent(s string, at int, c *class, limit int, final bool) (n int, open bool) {
	for at+n < len(s) && n < limit && c[s[at+n]] {
		n++
	}
	return n, at+n == len(s) && n < limit && !final
}

// token is a fixed beginning and at least least bytes of c that satisfy ok.
func token(c *class, least int, ok func(string) bool) func(string, int, bool, bool) verdict {
	return func(s string, lead int, final, whole bool) verdict {
		limit := max(least, window)
		if whole {
			limit = max(limit, wide)
		}
		n, open := extent(s, lead, c, limit, final)
		switch {
		case open && (whole || ok != nil || n < least):
			return verdict{answer: more}
		case n < least || ok != nil && !ok(s[lead:lead+min(n, max(least, window))]):
			return verdict{}
		}
		if ok == nil && !whole {
			n = least // the rest is dropped as it comes
		}
		return verdict{yes, 0, lead + n, matcher{class: c}}
	}
}

// fixed is a fixed beginning and exactly n bytes of c.
func fixed(c *class, n int) func(string, int, bool, bool) verdict {
	return func(s string, lead int, final, _ bool) verdict {
		got, open := extent(s, lead, c, n+1, final)
		switch {
		case open:
			return verdict{answer: more}
		case got != n:
			return verdict{}
		}
		return verdict{yes, 0, lead + n, matcher{}}
	}
}

// value matches a secret after a fixed beginning, which is kept.
func value(c *class, least int, ok func(string) bool) func(string, int, bool, bool) verdict {
	inner := token(c, least, ok)
	return func(s string, lead int, final, whole bool) verdict {
		v := inner(s, lead, final, whole)
		v.from, v.n = lead, v.n-lead
		return v
	}
}

// webToken is three parts in base64, the first two JSON objects.
func webToken(s string, lead int, final, _ bool) verdict {
	at := lead
	for part := range 3 {
		limit := 2048
		if part == 2 {
			limit = 10 // the rest is dropped as it comes
		}
		n, open := extent(s, at, url64, limit, final)
		if open {
			return verdict{answer: more}
		}
		if n < 10 {
			return verdict{}
		}
		if at += n; part == 2 {
			break
		}
		if at == len(s) && !final {
			return verdict{answer: more}
		}
		if at == len(s) || s[at] != '.' {
			return verdict{}
		}
		at++
	}
	return verdict{yes, 0, at, matcher{class: url64}}
}

var (
	labels = set(upper + digits + " ")
	dash   = set("-")
)

// keyBlock is the head line of a private key with the beginning of a body. Programs
// that look for keys contain the head line alone.
func keyBlock(s string, lead int, final, _ bool) verdict {
	label, open := extent(s, lead, labels, 48, final)
	if open {
		return verdict{answer: more}
	}
	name := s[lead : lead+label]
	if !strings.HasSuffix(name, "PRIVATE KEY") && !strings.HasSuffix(name, "PRIVATE KEY BLOCK") {
		return verdict{}
	}
	at := lead + label
	dashes, open := extent(s, at, dash, 5, final)
	if open {
		return verdict{answer: more}
	}
	if dashes != 5 {
		return verdict{}
	}
	at += 5
	body := 0
	for seen := 0; body < 16; seen++ {
		if at+seen == len(s) {
			if final {
				return verdict{}
			}
			return verdict{answer: more}
		}
		c := s[at+seen]
		switch {
		case !armored[c] || seen > 96:
			return verdict{}
		case std64[c] || c == '-':
			body++
		case body > 2 && c == ' ' && !strings.ContainsRune(":,|", rune(s[at+seen-1])): // prose about keys
			return verdict{}
		}
	}
	return verdict{yes, 0, at, matcher{armor: &armor{}}}
}

var (
	userPart = not("/@:\"'<>`\\")
	passPart = not("/@\"'<>`\\")
)

// urlPassword is the password in scheme://user:password@host.
func urlPassword(s string, lead int, final, _ bool) verdict {
	n, open := extent(s, lead, userPart, 128, final)
	if open || lead+n == len(s) && !final {
		return verdict{answer: more}
	}
	if lead+n == len(s) || s[lead+n] != ':' {
		return verdict{}
	}
	at := lead + n + 1
	n, open = extent(s, at, passPart, 256, final)
	if open || at+n == len(s) && !final {
		return verdict{answer: more}
	}
	if n < 3 || at+n == len(s) || s[at+n] != '@' || strings.ContainsAny(s[at:at+1], "$%{[*") {
		return verdict{}
	}
	return verdict{yes, at, n, matcher{}}
}

// assigned is not for a shape of its own: a name shows that a secret follows,
// and what follows looks random.
var (
	assignedPart = not("\"'`,;()<>{}[]\\")
	closers      = set("\"'\\]")
	signs        = set("=:>")
	openers      = set("\"'`\\")
)

func assigned(s string, lead int, final, whole bool) verdict {
	at := lead
	step := func(c *class, limit int) (string, bool) {
		n, open := extent(s, at, c, limit, final)
		at += n
		return s[at-n : at], open || at == len(s) && !final
	}
	name, open := step(ident, 24)
	if open {
		return verdict{answer: more}
	}
	for _, other := range []string{"name", "path", "file", "id", "url", "env", "type", "count", "len", "arn", "version", "size", "ref", "refs", "source", "manager", "store"} {
		if strings.HasSuffix(strings.ToLower(name), other) {
			return verdict{}
		}
	}
	_, o1 := step(closers, 3)
	_, o2 := step(spaces, 4)
	sign, o3 := step(signs, 2)
	_, o4 := step(spaces, 4)
	_, o5 := step(openers, 3)
	if sign == "" && !(o1 || o2 || o3) {
		return verdict{}
	}
	if o1 || o2 || o3 || o4 || o5 {
		return verdict{answer: more}
	}
	limit := window
	if whole {
		limit = wide
	}
	n, open := extent(s, at, assignedPart, limit, final)
	if open || at+n == len(s) && !final {
		return verdict{answer: more}
	}
	if sign == "" || at+n < len(s) && s[at+n] == '(' || !random(s[at:at+min(n, window)]) {
		return verdict{}
	}
	return verdict{yes, at, n, matcher{class: assignedPart}}
}

// random reports whether a word is more likely made by a machine than by a
// person: no path, address, variable or name of something.
func random(w string) bool {
	if len(w) < 12 || strings.ContainsAny(w[:1], "$%/~.&@*") || strings.Contains(w, "://") || strings.Contains(w, "...") {
		return false
	}
	numbers, words := 0, 0
	for i := 0; i < len(w); i++ {
		switch {
		case w[i] >= '0' && w[i] <= '9':
			numbers++
		case alnum[w[i]]:
			words++
		}
	}
	if numbers < 2 || words < 2 || entropy(w) < 3.2 {
		return false
	}
	if parts := strings.Split(w, "."); len(parts) > 1 { // as in "config.Key2.Value"
		return slices.ContainsFunc(parts, func(p string) bool { return p == "" || p[0] < 'A' })
	}
	return true
}

// entropy is in bits per byte.
func entropy(w string) float64 {
	var count [256]int
	for i := 0; i < len(w); i++ {
		count[w[i]]++
	}
	e := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(w))
			e -= p * math.Log2(p)
		}
	}
	return e
}

func hasDigit(w string) bool { return strings.ContainsAny(w, digits) }

// mixed reports whether a word has digits, capitals and small letters, as no name of code has.
func mixed(w string) bool {
	return hasDigit(w) && strings.ContainsAny(w, upper) && strings.ToUpper(w) != w
}

// Words around the word token in a name. A name names data if every other word of it is
// known as a word for data and one of them says which data: a name with another word,
// such as FB_PAGE_TOKEN, names a secret.
const (
	// places are words for a place in a list or a stream, which the next request names.
	places = " page pagination paging paginator next prev previous cursor continuation continue resume sync delta scroll position start end last marker stop begin first after before forward forwards backward backwards skip sequence idempotency dedup deduplication resumption watermark bookmark checkpoint offset change changes "
	// values are words for a value in a design or in a text that a model reads.
	values = " design semantic color colour theme spacing font style radius shadow typography eos bos pad unk sep cls mask eot sot eod special max min num total "
	// beside are words that stand with those and say nothing alone.
	beside = " new batch list result results item items record records event events query search upload of the per ms "
	// capital are the words of these that count in capitals too: SYNC_TOKEN is a
	// variable, and most variables name secrets.
	capital = " next prev previous cursor continuation pagination after before skip eos bos pad unk sep cls mask max min "
	// behind are words after token which show that the name does not name a secret.
	behind = " ids count counts type types class len length limit budget usage size index family font weight height color colour spacing radius shadow theme style address symbol decimals supply "
)

// lookback bounds the part of a name that is known before the word token, in bytes.
const lookback = 64

// dataName reports whether the name around the word token names data. before ends where
// the word token begins, rest begins there, and value is assigned to the name.
func dataName(before, rest, value string) bool {
	end := 0
	for end < len(rest) && ident[rest[end]] {
		end++
	}
	if reference(before, value) {
		return true
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
	if strings.HasSuffix(before, "unexpected ") || strings.HasSuffix(before, "Unexpected ") {
		return true // the words of a parser
	}
	switch front {
	case "client", "Client", "clientRequest", "ClientRequest", "client_request":
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

// schemes name where a secret is, in place of the secret.
var schemes = []string{"env:", "vault:", "file:", "ssm:", "op:", "arn:", "keychain:", "keyring:"}

// reference reports whether a value says where a secret is. before is the text before its name:
// a resource's name has the word secret within it.
func reference(before, value string) bool {
	word := before[strings.LastIndexAny(before, " \t\n\"'`=")+1:]
	return strings.HasPrefix(word, "arn:") || slices.ContainsFunc(schemes, func(s string) bool { return strings.HasPrefix(value, s) })
}

func contains(list, word string) bool { return strings.Contains(list, " "+strings.ToLower(word)+" ") }

// trailing returns the offset of the name at the end of s.
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
