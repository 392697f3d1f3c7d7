package textcall

import (
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
	args := &value{kind: '{'}
	for {
		s.skip("")
		switch {
		case s.take("</function>"):
			return s.add(name, "", args.json())
		case s.take("<parameter="):
			key, ok := s.until(">")
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			key = strings.Trim(strings.TrimSpace(key), `"'`)
			given := append(args.keys, key)
			text, ok := s.content("</parameter>", "<parameter=", "</function>", func(next string) bool {
				_, known := s.shape(name).Properties[next]
				return known && !slices.Contains(given, next)
			})
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			args.keys, args.kids = append(args.keys, key), append(args.kids, s.coerce(name, key, text))
		case s.i >= len(s.s) || strings.HasPrefix("</function>", s.s[s.i:]) || strings.HasPrefix("<parameter=", s.s[s.i:]):
			return s.broken(name, "", from, errEnd)
		case s.has("</tool_call>"):
			s.note("a tool call lacked its </function>")
			return s.add(name, "", args.json())
		default:
			return errNot
		}
	}
}

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
			if n := s.forgotten(text, another, more); n >= 0 {
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

// forgotten is where another item begins inside of text, because the end of
// this one was forgotten; -1 if it does not. more says which items there can
// still be.
func (s *scan) forgotten(text, another string, more func(key string) bool) int {
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

// trimLine takes off the line ends that set a value apart from its tags, one
// on each side.
func trimLine(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// glm reads <arg_key> and <arg_value> pairs up to </tool_call>.
func (s *scan) glm(name string, from int) error {
	args := &value{kind: '{'}
	for {
		s.skip("")
		switch {
		case s.has("</tool_call>"): // the block takes it
			return s.add(name, "", args.json())
		case s.take("<arg_key>"):
			key, ok := s.until("</arg_key>")
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			s.skip("")
			if !s.take("<arg_value>") {
				if s.i >= len(s.s) || strings.HasPrefix("<arg_value>", s.s[s.i:]) {
					return s.broken(name, "", from, errEnd)
				}
				return errNot
			}
			text, ok := s.content("</arg_value>", "<arg_key>", "</tool_call>", nil)
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			key = strings.TrimSpace(key)
			args.keys, args.kids = append(args.keys, key), append(args.kids, s.coerce(name, key, text))
		case s.i >= len(s.s) || strings.HasPrefix("<arg_key>", s.s[s.i:]) || strings.HasPrefix("</tool_call>", s.s[s.i:]):
			return s.broken(name, "", from, errEnd)
		default:
			return errNot
		}
	}
}

// invoke reads <invoke name="…"> with parameters, with a namespace before the
// names of the tags.
func (s *scan) invoke(space string) error {
	from := s.i
	head, ok := s.until(">")
	if !ok {
		return errNot
	}
	name, err := s.tool(attribute(head, "name"))
	if err != nil {
		return err
	}
	open, end, outer := "<"+space+"parameter ", "</"+space+"parameter>", "</"+space+"invoke>"
	args := &value{kind: '{'}
	for {
		s.skip("")
		switch {
		case s.take(outer):
			return s.add(name, "", args.json())
		case s.take(open):
			head, ok := s.until(">")
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			text, ok := s.content(end, open, outer, nil)
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			key := attribute(head, "name")
			v := &value{kind: '"', text: text}
			// DeepSeek says itself which values are strings.
			if attribute(head, "string") != "true" {
				v = s.coerce(name, key, text)
			}
			args.keys, args.kids = append(args.keys, key), append(args.kids, v)
		case s.i >= len(s.s) || strings.HasPrefix(outer, s.s[s.i:]) || strings.HasPrefix(open, s.s[s.i:]):
			return s.broken(name, "", from, errEnd)
		default:
			return errNot
		}
	}
}

// attribute is the value of an attribute in a tag, "" if it is not there.
func attribute(head, name string) string {
	_, rest, ok := strings.Cut(" "+head, " "+name+"=")
	if !ok || rest == "" {
		return ""
	}
	if q := rest[:1]; q == `"` || q == "'" {
		inside, _, _ := strings.Cut(rest[1:], q)
		return inside
	}
	inside, _, _ := strings.Cut(rest, " ")
	return inside
}

// deepseek reads one call behind its opening token: the name and JSON, or
// the word function first and the JSON in a fence, or Step's <invoke>.
func (s *scan) deepseek(sep, end string) error {
	from := s.i
	head, ok := s.until(sep)
	if !ok {
		return errNot
	}
	if strings.TrimSpace(head) == "function" {
		s.skip("")
		if s.take("<steptml:invoke ") {
			if err := s.invoke("steptml:"); err != nil {
				return err
			}
			s.skip("")
			s.take(end)
			return nil
		}
		head = s.s[s.i:][:word(s.s[s.i:])]
		s.i += len(head)
	}
	name, err := s.tool(head)
	if err != nil {
		return err
	}
	s.skip("")
	fenced := s.take("```json") || s.take("```")
	if err := s.arguments(name, "", from); err != nil {
		return err
	}
	s.skip("")
	if fenced {
		s.take("```")
		s.skip("")
	}
	s.take(end)
	return nil
}

// kimi reads functions.NAME:N, the token before the arguments, and JSON.
func (s *scan) kimi() error {
	from := s.i
	head, ok := s.until("<|tool_call_argument_begin|>")
	if !ok {
		return errNot
	}
	id := strings.TrimSpace(head)
	full, _, _ := strings.Cut(id, ":")
	name, err := s.tool(full)
	if err != nil {
		return err
	}
	s.skip("")
	if s.take("<|tool_call_end|>") {
		return s.add(name, id, []byte("{}"))
	}
	if err := s.arguments(name, id, from); err != nil {
		return err
	}
	s.skip("]}")
	s.take("<|tool_call_end|>")
	return nil
}
