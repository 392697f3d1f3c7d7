package calendar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/parts/internal/shared/fetch"
)

const (
	mostParts = 8 // components within components
	mostLines = 1_000_000
)

// A part is a component of an iCalendar file: VCALENDAR, VEVENT and so on.
type part struct {
	name  string
	props []prop
	parts []*part
}

// A prop is one content line.
type prop struct {
	name   string
	params map[string]string // the first value of each; nil if there are none
	value  string
}

// all returns the properties of a name.
func (p *part) all(name string) []prop {
	var out []prop
	for _, q := range p.props {
		if q.name == name {
			out = append(out, q)
		}
	}
	return out
}

// prop returns the first property of a name; its name is empty if there is none.
func (p *part) prop(name string) prop {
	for _, q := range p.props {
		if q.name == name {
			return q
		}
	}
	return prop{}
}

// text is the value of a property without escapes.
func (p *part) text(name string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";").Replace(p.prop(name).value)
}

// parseICS reads iCalendar text: the components at its top, usually one. Lines
// that cannot be read are left out, as other programs do; what is no calendar
// at all is an error.
func parseICS(text string) ([]*part, error) {
	var top []*part
	var open []*part
	lines, soft := 0, "" // soft is a line of quoted-printable text that goes on
	for l := range strings.Lines(folds.ReplaceAllString(text, "")) {
		l = soft + strings.TrimRight(l, "\r\n")
		if lines++; lines > mostLines {
			return nil, fmt.Errorf("it has more than %d lines", mostLines)
		}
		if soft = ""; strings.HasSuffix(l, "=") && printable.MatchString(l) && len(l) < mostSoft {
			soft = strings.TrimSuffix(l, "=")
			continue
		}
		p, ok := parseLine(l)
		if !ok {
			continue
		}
		switch p.name {
		case "BEGIN":
			c := &part{name: strings.ToUpper(strings.TrimSpace(p.value))}
			switch {
			case len(open) == mostParts:
				return nil, fmt.Errorf("it nests components deeper than %d; that is no calendar", mostParts)
			case len(open) == 0 && c.name != "VCALENDAR":
				return nil, errors.New("it does not begin with BEGIN:VCALENDAR")
			case len(open) == 0:
				top = append(top, c)
			default:
				last := open[len(open)-1]
				last.parts = append(last.parts, c)
			}
			open = append(open, c)
		case "END":
			if len(open) == 0 || !strings.EqualFold(strings.TrimSpace(p.value), open[len(open)-1].name) {
				return nil, fmt.Errorf("END:%s does not belong to what is open there", spelling.Clip(p.value, 40))
			}
			open = open[:len(open)-1]
		default:
			if len(open) > 0 {
				last := open[len(open)-1]
				last.props = append(last.props, p)
			}
		}
	}
	switch {
	case len(top) == 0:
		return nil, errors.New("it is not a calendar: there is no BEGIN:VCALENDAR")
	case len(open) > 0:
		return nil, fmt.Errorf("it ends within %s: the file was cut", open[len(open)-1].name)
	}
	return top, nil
}

var folds = lazyregexp.New(`\r*\n[ \t]`)

// decode makes UTF-8 of an iCalendar file. Lines are folded by bytes, also in the middle
// of a character, so they are put together before.
func decode(b []byte, label string) (string, error) {
	if !bytes.Contains(b[:min(len(b), 64)], []byte{0}) { // not UTF-16
		if !bytes.Contains(b, []byte{'\n'}) {
			b = bytes.ReplaceAll(b, []byte{'\r'}, []byte{'\n'})
		}
		b = folds.Regexp().ReplaceAll(b, nil)
	}
	return fetch.Decode(b, label)
}

// parseLine reads NAME;PARAM=value;PARAM="value":value.
func parseLine(l string) (p prop, ok bool) {
	i := strings.IndexAny(l, ";:")
	if i <= 0 {
		return p, false
	}
	p.name = strings.ToUpper(strings.TrimSpace(l[:i]))
	for l[i] == ';' {
		l = l[i+1:]
		eq := strings.IndexAny(l, "=;:")
		if eq < 0 || l[eq] != '=' {
			return p, false
		}
		name := strings.ToUpper(l[:eq])
		l = l[eq+1:]
		i = valueEnd(l)
		if i < 0 {
			return p, false
		}
		if p.params == nil {
			p.params = map[string]string{}
		}
		if _, twice := p.params[name]; !twice {
			p.params[name] = strings.Trim(l[:i], `"`)
		}
	}
	if p.value = l[i+1:]; strings.EqualFold(p.params["ENCODING"], "QUOTED-PRINTABLE") {
		b, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(p.value)))
		s, unread := fetch.Decode(b, p.params["CHARSET"])
		if err == nil && unread == nil {
			p.value = strings.NewReplacer("\r\n", `\n`, "\n", `\n`).Replace(s)
		}
	}
	return p, true
}

// printable is a line of iCalendar 1.0 whose text is quoted-printable.
var printable = lazyregexp.New(`(?i)^[^:]*;ENCODING=QUOTED-PRINTABLE[;:]`)

// mostSoft bounds a line that is put together.
const mostSoft = 64 << 10

// valueEnd returns the offset at which a parameter's value ends: at ; or : outside of
// quotes.
func valueEnd(l string) int {
	quoted := false
	for i := range len(l) {
		switch c := l[i]; {
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ';' || c == ':'):
			return i
		}
	}
	return -1
}
