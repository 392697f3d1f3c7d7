package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// Configured lists configured names for an error or a hint.
func Configured[V any](what string, m map[string]V) string {
	if len(m) == 0 {
		return "no " + what + " are configured"
	}
	return "configured " + what + ": " + strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

var declared = lazyregexp.New(`(?i)^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([a-z0-9._:-]{1,40})["']`)

// Decode makes UTF-8 of an answer's body: by its byte order mark, the charset
// its server names, or the one it names itself, unless the bytes show that it is UTF-8. What claims to
// be UTF-8, or nothing, and is not, is read as Windows-1252, as browsers do.
func Decode(body []byte, label string) (string, error) {
	name := strings.ToLower(strings.TrimSpace(label))
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		name, body = "utf-8", body[3:]
	case bytes.HasPrefix(body, []byte("\xff\xfe")), bytes.HasPrefix(body, []byte("<\x00")):
		name = "utf-16le"
	case bytes.HasPrefix(body, []byte("\xfe\xff")), bytes.HasPrefix(body, []byte("\x00<")):
		name = "utf-16be"
	case name == "":
		if m := declared.FindSubmatch(body[:min(len(body), 512)]); m != nil {
			name = strings.ToLower(string(m[1]))
		}
	}
	if strings.HasPrefix(name, "utf-16") && bytes.IndexByte(body, 0) < 0 && !bytes.HasPrefix(body, []byte("\xff\xfe")) && !bytes.HasPrefix(body, []byte("\xfe\xff")) {
		name = "" // a program that wrote UTF-8 kept the name of its strings
	}
	enc, canonical := charset.Lookup(name)
	if oneByte := strings.HasPrefix(canonical, "windows-") || strings.HasPrefix(canonical, "iso-8859-"); oneByte && utf8.Valid(body) {
		name, enc = "", nil // text in those that has other signs than ASCII is not UTF-8 by chance
	}
	if name != "" && enc == nil {
		return "", fmt.Errorf("it says that its text is in %q, which is not known here", spelling.Clip(name, 40))
	}
	if enc == nil || canonical == "utf-8" {
		if utf8.Valid(body) {
			return string(body), nil
		}
		if bytes.IndexByte(body, 0) >= 0 {
			return "", fmt.Errorf("it is not text: it has NUL bytes and is not UTF-8")
		}
		enc, _ = charset.Lookup("windows-1252")
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return "", fmt.Errorf("its text cannot be read as %s: %w", canonical, err)
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(out), "\uFFFD"), "\ufeff"), nil
}

// OneLine is s on one line, without what a terminal or a reader would trip over.
func OneLine(s string, n int) string {
	s = html.UnescapeString(spelling.Clip(s, 8*n+1024))
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r) && r != '\u200d', r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	return spelling.Clip(strings.Join(strings.Fields(s), " "), n)
}

const (
	maxDepth  = 1000   // of elements; a feed has about ten
	MostItems = 20_000 // a feed has hundreds
)

// ResolveLink makes a link of a feed absolute, and drops what is none.
func ResolveLink(at *url.URL, ref string) string {
	ref = strings.TrimSpace(ref)
	u, err := url.Parse(ref)
	if ref == "" || err != nil || len(ref) > 4096 {
		return ""
	}
	if at != nil {
		u = at.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return u.String()
}

// CleanXML refuses what would make reading XML cost more than its size, and names
// the one encoding that the text has by now.
func CleanXML(text string) (string, error) {
	if rest, ok := strings.CutPrefix(text, "<?xml"); ok {
		if _, after, ok := strings.Cut(rest, "?>"); ok {
			text = `<?xml version="1.0" encoding="UTF-8"?>` + after
		}
	}
	if n := strings.Count(text, "<item") + strings.Count(text, "<entry"); n > MostItems {
		return "", fmt.Errorf("it has %d items, more than can be read here", n)
	}
	text = podcastSpace.ReplaceAllString(text, "${1}http://www.itunes.com/DTDs/PodCast-1.0.dtd$2")
	depth, most := 0, 0
	var clean strings.Builder
	copied := 0
	for i := strings.IndexByte(text, '<'); i >= 0; {
		rest := text[i:]
		end := ">"
		switch {
		case len(rest) > 1 && strings.IndexByte(" \t\r\n<=0123456789", rest[1]) >= 0:
			clean.WriteString(text[copied:i] + "&lt;") // no markup begins like that
			next := strings.IndexByte(rest[1:], '<')
			copied = i + 1
			if i += 1 + next; next < 0 {
				i = -1
			}
			continue
		case strings.HasPrefix(rest, "<!--"):
			end = "-->"
		case strings.HasPrefix(rest, "<![CDATA["):
			end = "]]>"
		case strings.HasPrefix(rest, "<?"):
			end = "?>"
		case strings.HasPrefix(rest, "<!"):
			decl, _, _ := strings.Cut(rest, ">")
			if strings.Contains(decl, "[") || strings.HasPrefix(strings.ToUpper(rest), "<!ENTITY") {
				return "", errors.New("it declares entities, which feeds do not need and attackers do; it is not read")
			}
		case strings.HasPrefix(rest, "</"):
			depth--
		default:
			depth++
		}
		n := strings.Index(rest, end)
		if n < 0 {
			break
		}
		if end == ">" && n > 0 && rest[n-1] == '/' && rest[1] != '/' {
			depth--
		}
		if most = max(most, depth); most > maxDepth {
			return "", fmt.Errorf("it nests elements deeper than %d; that is no feed", maxDepth)
		}
		next := strings.IndexByte(rest[n:], '<')
		if next < 0 {
			break
		}
		i += n + next
	}
	return clean.String() + text[copied:], nil
}

// podcastSpace is the declaration of Apple's namespace. Feeds spell it in several ways, and the
// library knows one.
var podcastSpace = lazyregexp.New(`(?i)(\sxmlns:[\w.-]+\s*=\s*["']\s*)https?://www\.itunes\.com/dtds/podcast-1\.0\.dtd(\s*["'])`)

// zones are the abbreviations of time zones in dates of feeds, in minutes from UTC. Of those
// with several meanings it is the one that most feeds mean.
var zones = map[string]int{
	"UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "WET": 0, "WEST": 60, "BST": 60, "CET": 60, "MEZ": 60, "CEST": 120, "MESZ": 120, "EET": 120, "EEST": 180,
	"MSK": 180, "MSD": 240, "TRT": 180, "IDT": 180, "WAT": 60, "CAT": 120, "SAST": 120, "EAT": 180,
	"GST": 240, "PKT": 300, "IST": 330, "NPT": 345, "ICT": 420, "WIB": 420, "HKT": 480, "SGT": 480, "MYT": 480, "PHT": 480, "AWST": 480,
	"JST": 540, "KST": 540, "ACST": 570, "AEST": 600, "ACDT": 630, "AEDT": 660, "NZST": 720, "NZDT": 780,
	"NST": -210, "NDT": -150, "AST": -240, "ADT": -180, "EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
	"AKST": -540, "AKDT": -480, "HST": -600, "BRT": -180, "ART": -180, "CLT": -240, "CLST": -180, "COT": -300, "PET": -300,
}

var (
	weekday    = lazyregexp.New(`^(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*[,.]?|\p{L}+\.?,)\s*`) // it says nothing that the date does not
	slashed    = lazyregexp.New(`^(\d{4})/(\d\d)/(\d\d)\b`)
	dashed     = lazyregexp.New(`^(\d{1,2})-([A-Za-z]{3,9})-(\d{2,4})\b`)
	compact    = lazyregexp.New(`^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)`)
	halves     = lazyregexp.New(`(?i)(\d:\d\d(?::\d\d)?)\s*([ap])\.?m\b\.?`)
	word       = lazyregexp.New(`\p{L}{3,}\.?`)
	dotted     = lazyregexp.New(`^\d{1,2}\.$`)
	named      = lazyregexp.New(`^(.*\d)\s*([A-Za-z]{1,4})(?:\s*\([^)]*\))?$`)
	offsetZone = lazyregexp.New(`^(.*\d)\s*(?:(?i:gmt|utc)\s*)?([+-])\s?(\d{1,2})(?::?(\d\d))?(?:\s*\([^)]*\))?$`)
	clockTime  = lazyregexp.New(`\d:\d\d`)
)

// months are the beginnings of the names of months, in the languages that feeds are written in.
var months = [...]string{"jan jän gen ene янв", "feb fév fev фев", "mar mär maa mrt мар", "apr avr abr апр kwi", "may mai mei mag maj май мая", "jun juin giu июн cze", "jul juil lug июл lip",
	"aug août aoû ago авг sie", "sep set сен wrz", "oct okt out ott окт paź", "nov ноя lis", "dec dez déc dic des дек gru"}

// between are the words between the parts of a date, and behind its time.
var between = []string{"de", "del", "um", "à", "às", "alle", "ore", "a", "las", "uhr"}

// month returns the English abbreviation of a month for its name, and another word as it is.
func month(name string) string {
	letters := []rune(strings.ToLower(name))
	for _, n := range []int{4, 3} { // juin before jui, juil likewise
		for i, all := range months {
			if len(letters) >= n && slices.Contains(strings.Fields(all), string(letters[:n])) {
				return time.Month(i + 1).String()[:3]
			}
		}
	}
	return name
}

var endOfDay = lazyregexp.New(`(\d[ T])24(:?)00(:?00(?:[.,]0+)?)?([^\d:]|$)`)

// Midnight returns a time that is the end of a day, 24:00, as the beginning of that day, and how much
// later it is; any other text stays as it is.
func Midnight(s string) (string, time.Duration) {
	if !endOfDay.MatchString(s) {
		return s, 0
	}
	return endOfDay.ReplaceAllString(s, "${1}00${2}00${3}${4}"), 24 * time.Hour
}

// FeedDate reads a date as feeds have it: with a day and a month, a time, and a zone by its
// offset or its abbreviation. It reports false for another form, and for a zone that is
// not known.
func FeedDate(s string) (time.Time, bool) {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "\u00a0", " ")
	parts := slices.DeleteFunc(strings.Fields(weekday.ReplaceAllString(s, "")), func(p string) bool { return slices.Contains(between, strings.ToLower(p)) })
	for i, p := range parts {
		if dotted.MatchString(p) {
			parts[i] = p[:len(p)-1]
		}
	}
	s = word.ReplaceAllStringFunc(strings.Join(parts, " "), month)
	s = dashed.ReplaceAllString(slashed.ReplaceAllString(s, "$1-$2-$3"), "$1 $2 $3")
	s = compact.ReplaceAllString(s, "$1-$2-$3 $4:$5:$6")
	half := halves.FindStringSubmatch(s)
	s = halves.ReplaceAllString(s, "$1")
	if !clockTime.MatchString(s) {
		return time.Time{}, false
	}
	s, late := Midnight(s)
	offset := 0
	if m := offsetZone.FindStringSubmatch(s); m != nil {
		t, err := time.Parse("-0700", m[2]+("0" + m[3])[len(m[3])-1:]+(m[4] + "00")[:2])
		if err != nil {
			return time.Time{}, false
		}
		_, seconds := t.Zone()
		s, offset = m[1], seconds/60
	} else if m := named.FindStringSubmatch(s); m != nil {
		known := false
		if offset, known = zones[strings.ToUpper(m[2])]; !known {
			return time.Time{}, false
		}
		s = m[1]
	}
	zone := time.FixedZone("", offset*60)
	s = strings.ReplaceAll(s, ",", "")
	for _, day := range []string{"2 Jan 2006", "Jan 2 2006", "2 Jan 06", "2006-01-02"} {
		for _, clock := range []string{" 15:04:05", " 15:04", "T15:04:05", "T15:04"} {
			t, err := time.ParseInLocation(day+clock, s, zone)
			switch {
			case err != nil:
				continue
			case half != nil && t.Hour() == 12 && strings.EqualFold(half[2], "a"):
				late -= 12 * time.Hour
			case half != nil && t.Hour() < 12 && strings.EqualFold(half[2], "p"):
				late += 12 * time.Hour
			}
			return t.Add(late), true
		}
	}
	return time.Time{}, false
}
