package transport

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Servers cut their texts between tokens, which may be inside of a character: a chunk
// then ends with some of its bytes, or with the escape of one half of a surrogate pair.
// Decoders of JSON would put U+FFFD for each half. Halves makes them characters of
// a private area, from which joined puts the character together.
const (
	halfByte      = 0x10FE00 // plus the byte
	halfSurrogate = 0x100000 // plus the surrogate
)

// Halves keeps the halves of characters in JSON through decoding.
func Halves(raw []byte) []byte {
	if utf8.Valid(raw) && !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return raw
	}
	out := make([]byte, 0, len(raw)+16)
	for i := 0; i < len(raw); {
		if raw[i] == '\\' && i+1 < len(raw) {
			first, second := surrogate(raw[i:]), rune(0)
			if first != 0 && i+12 <= len(raw) {
				second = surrogate(raw[i+6:])
			}
			switch {
			case first == 0:
				out = append(out, raw[i:i+2]...)
				i += 2
			case utf16.DecodeRune(first, second) != utf8.RuneError:
				out = append(out, raw[i:i+12]...)
				i += 12
			default:
				out = utf8.AppendRune(out, halfSurrogate+first)
				i += 6
			}
			continue
		}
		r, n := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && n == 1 {
			r = halfByte + rune(raw[i])
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return out
}

// surrogate returns the surrogate whose escape b begins with, or 0.
func surrogate(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(n)) {
		return 0
	}
	return rune(n)
}

// half returns the byte or surrogate that r stands for.
func half(r rune) (b byte, s rune, ok bool) {
	switch {
	case r >= halfByte+0x80 && r <= halfByte+0xff:
		return byte(r - halfByte), 0, true
	case r >= halfSurrogate+0xd800 && r <= halfSurrogate+0xdfff:
		return 0, r - halfSurrogate, true
	}
	return 0, 0, false
}

// joined joins the halves in s; those without their other half become U+FFFD.
func joined(s string) string {
	done, rest := join(s)
	return done + strings.Repeat(string(utf8.RuneError), utf8.RuneCountInString(rest))
}

// join puts halves together. rest is the beginning of a character at the end of s.
func join(s string) (done, rest string) {
	first := strings.IndexFunc(s, func(r rune) bool { _, _, ok := half(r); return ok })
	if first < 0 {
		return s, ""
	}
	out := []byte(s[:first])
	for i := first; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		b, high, ok := half(r)
		switch {
		case !ok:
			out = append(out, s[i:i+n]...)
			i += n
		case high != 0:
			next, m := utf8.DecodeRuneInString(s[i+n:])
			_, low, _ := half(next)
			if utf16.IsSurrogate(high) && high < 0xdc00 && i+n == len(s) {
				return string(out), s[i:]
			}
			if pair := utf16.DecodeRune(high, low); low != 0 && pair != utf8.RuneError {
				out, n = utf8.AppendRune(out, pair), n+m
			} else {
				out = utf8.AppendRune(out, utf8.RuneError)
			}
			i += n
		default:
			bytes, at := []byte{b}, i+n
			for at < len(s) && !utf8.FullRune(bytes) {
				next, m := utf8.DecodeRuneInString(s[at:])
				more, _, ok := half(next)
				if !ok || more == 0 {
					break
				}
				bytes, at = append(bytes, more), at+m
			}
			if at == len(s) && !utf8.FullRune(bytes) {
				return string(out), s[i:]
			}
			c, size := utf8.DecodeRune(bytes)
			out = utf8.AppendRune(out, c)
			for ; size > 0; size-- {
				_, m := utf8.DecodeRuneInString(s[i:])
				i += m
			}
		}
	}
	return string(out), ""
}
