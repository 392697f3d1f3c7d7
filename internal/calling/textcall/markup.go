package textcall

import (
	"errors"
	"slices"
	"strings"
)

// function reads <function=NAME> with parameters in tags, or with JSON as
// Llama 3.1 writes it, up to </function>.
func (s *scan) function() error {
	from := s.i
	head, ok := s.until(">")
	if !ok {
		return errNot
	}
	name, err := s.tool(strings.Trim(strings.TrimSpace(head), `"'`))
	if err != nil {
		return err
	}
	s.skip("")
	if s.has("{") {
		if err := s.arguments(name, "", from); err != nil {
			return err
		}
		s.skip("")
		s.take("</function>")
		return nil
	}
	args := &value{Kind: '{'}
	for {
		s.skip("")
		switch {
		case s.take("</function>"):
			return s.add(name, "", args.Append(nil))
		case s.take("<parameter="):
			key, ok := s.until(">")
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			key = strings.Trim(strings.TrimSpace(key), `"'`)
			given := append(args.Keys, key)
			text, ok := s.content("</parameter>", "<parameter=", "</function>", func(next string) bool {
				_, known := s.shape(name).Properties[next]
				return known && !slices.Contains(given, next)
			})
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			args.Keys, args.Kids = append(args.Keys, key), append(args.Kids, s.coerce(name, key, text))
		case s.i >= len(s.s) || strings.HasPrefix("</function>", s.s[s.i:]) || strings.HasPrefix("<parameter=", s.s[s.i:]):
			return s.broken(name, "", from, errEnd)
		case s.has("</tool_call>"):
			s.note("a tool call lacked its </function>")
			return s.add(name, "", args.Append(nil))
		case len(args.Keys) > 0:
			return s.garbled(name, from)
		default:
			return errNot
		}
	}
}

// garbled records a call that has a name and arguments, followed by text that cannot be read.
func (s *scan) garbled(name string, from int) error {
	s.toEnd()
	return s.broken(name, "", from, errMarkup)
}

var errMarkup = errors.New("a tag is missing or stands in the wrong place")

// content reads a value up to its end. Since a value may hold the same tag,
// only one that is followed by another item or the end of the call counts.
func (s *scan) content(end, another, outer string, more func(key string) bool) (string, bool) {
	from := s.i
	for k := s.i; !s.never[end]; {
		n := strings.Index(s.s[k:], end)
		if n < 0 {
			if s.never == nil {
				s.never = map[string]bool{}
			}
			s.never[end] = true
			break
		}
		k += n + len(end)
		after := strings.TrimLeft(s.s[k:min(len(s.s), k+256)], " \t\r\n")
		if after == "" || follows(after, another) || follows(after, outer) || follows(after, "</tool_call>") {
			text := s.s[from : k-len(end)]
			if n := s.nextItem(text, another, more); n >= 0 {
				s.i = from + n
				s.note("a tool call lacked the end of a parameter")
				return trimLine(text[:n]), true
			}
			s.i = k
			return trimLine(text), true
		}
	}
	// A forgotten end: the next item on a line of its own ends the value.
	n := -1
	if !s.never["\n"+another] {
		if n = strings.Index(s.s[from:], "\n"+another); n < 0 {
			s.forget("\n" + another)
		}
	}
	if n < 0 {
		n = len(s.s) - from
	}
	if k := strings.Index(s.s[from:from+n], "\n"+outer); k >= 0 {
		n = k
	} else if from+n == len(s.s) {
		return "", false
	}
	s.i = from + n
	s.note("a tool call lacked the end of a parameter")
	return trimLine(s.s[from : from+n]), true
}

// nextItem returns the index in text at which the next item begins because the end tag of this
// one is missing, or -1. more reports whether an item with this key can still follow.
func (s *scan) nextItem(text, another string, more func(key string) bool) int {
	if more == nil {
		return -1
	}
	n := strings.Index(text, "\n"+another)
	if n < 0 {
		return -1
	}
	key, _, ok := strings.Cut(text[n+1+len(another):], ">")
	if !ok || !more(key) {
		return -1
	}
	return n
}

func (s *scan) forget(end string) {
	if s.never == nil {
		s.never = map[string]bool{}
	}
	s.never[end] = true
}

// follows reports whether text begins with tag, as far as both go.
func follows(text, tag string) bool {
	return strings.HasPrefix(text, tag) || len(text) < len(tag) && strings.HasPrefix(tag, text)
}

// trimLine takes off the line ends that set a value apart from its tags. Where
// the value begins right behind its tag, a line end before the other one is
// part of it.
func trimLine(s string) string {
	inside := strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	if len(inside) == len(s) {
		return s
	}
	return strings.TrimSuffix(strings.TrimSuffix(inside, "\n"), "\r")
}

// tagPair are the tags around the names and values of arguments.
type tagPair struct{ key, keyEnd, value, valueEnd string }

// pairTags are the tags of GLM, Laguna and Hunyuan 3, of Longcat, and of Hunyuan 4.
var pairTags = []tagPair{
	{"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"},
	{"<longcat_arg_key>", "</longcat_arg_key>", "<longcat_arg_value>", "</longcat_arg_value>"},
	{"<arg_key:opensource>", "</arg_key:opensource>", "<arg_value:opensource>", "</arg_value:opensource>"},
}

// pairs reads arguments as pairs of tags up to the end of the call, which the
// block takes.
func (s *scan) pairs(name string, from int, tags tagPair) error {
	args, end := &value{Kind: '{'}, s.end
	for {
		s.skip("")
		switch {
		case s.has(end):
			return s.add(name, "", args.Append(nil))
		case s.take(tags.key):
			key, ok := s.until(tags.keyEnd)
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			s.skip("")
			if !s.take(tags.value) {
				if s.i >= len(s.s) || strings.HasPrefix(tags.value, s.s[s.i:]) {
					return s.broken(name, "", from, errEnd)
				}
				return s.garbled(name, from)
			}
			text, ok := s.content(tags.valueEnd, tags.key, end, nil)
			switch {
			case !ok:
				return s.broken(name, "", from, errEnd)
			case strings.Contains(text, tags.key), strings.Contains(text, tags.value):
				// The end tag is missing: the following text would become part of the value.
				return s.garbled(name, from)
			}
			key = strings.TrimSpace(key)
			args.Keys, args.Kids = append(args.Keys, key), append(args.Kids, s.coerce(name, key, text))
		case s.i >= len(s.s) || strings.HasPrefix(tags.key, s.s[s.i:]) || strings.HasPrefix(end, s.s[s.i:]):
			return s.broken(name, "", from, errEnd)
		case len(args.Keys) > 0:
			return s.garbled(name, from)
		default:
			return errNot
		}
	}
}

// An element names a family's tags of a call and of its parameters.
type element struct{ call, param string }

var elements = []element{
	{"invoke", "parameter"},                 // MiniMax M2, Claude
	{"｜DSML｜invoke", "｜DSML｜parameter"},     // DeepSeek V3.2, V4
	{"｜DSML｜ invoke", "｜DSML｜ parameter"},   // DeepSeek V4.1
	{"steptml:invoke", "steptml:parameter"}, // Step 3
	{"atem:invoke", "atem:parameter"},       // Muse Glimmer
	{"function", "param"},                   // MiniCPM
}

// invoke reads <invoke name="…"> with its parameters.
func (s *scan) invoke(e element) error {
	from := s.i
	head, ok := s.until(">")
	if !ok {
		return errNot
	}
	name, err := s.tool(attribute(head, "name"))
	if err != nil {
		return err
	}
	open, end, outer := "<"+e.param+" ", "</"+e.param+">", "</"+e.call+">"
	args := &value{Kind: '{'}
	for {
		s.skip("")
		switch {
		case s.take("<arguments>"), s.take("</arguments>"):
		case s.take(outer):
			return s.add(name, "", args.Append(nil))
		case s.take(open):
			head, ok := s.until(">")
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			text, ok := s.cdata(end)
			if !ok {
				text, ok = s.content(end, open, outer, nil)
			}
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			key := attribute(head, "name")
			v := &value{Kind: '"', Text: text}
			// DeepSeek itself marks values that are strings.
			if attribute(head, "string") != "true" {
				v = s.coerce(name, key, text)
			}
			args.Keys, args.Kids = append(args.Keys, key), append(args.Kids, v)
		case s.i >= len(s.s) || strings.HasPrefix(outer, s.s[s.i:]) || strings.HasPrefix(open, s.s[s.i:]):
			return s.broken(name, "", from, errEnd)
		default:
			key := s.property(name)
			if key == "" && len(args.Keys) > 0 {
				return s.garbled(name, from)
			}
			if key == "" {
				return errNot
			}
			// The parameter's name is the tag.
			text, ok := s.content("</"+key+">", "<", outer, nil)
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			args.Keys, args.Kids = append(args.Keys, key), append(args.Kids, s.coerce(name, key, text))
		}
	}
}

// property takes a tag that is named as a property of the tool.
func (s *scan) property(tool string) string {
	if !s.has("<") {
		return ""
	}
	key := s.s[s.i+1:][:word(s.s[s.i+1:])]
	if _, ok := s.shape(tool).Properties[key]; !ok || !s.take("<"+key+">") {
		return ""
	}
	return key
}

// cdata takes a value that is marked as text.
func (s *scan) cdata(end string) (string, bool) {
	at := s.i
	s.skip("")
	if s.take("<![CDATA[") {
		if text, ok := s.until("]]>"); ok {
			if s.skip(""); s.take(end) {
				return text, true
			}
		}
	}
	s.i = at
	return "", false
}
