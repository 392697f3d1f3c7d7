package textcall

import "strings"

// kimi3 reads a call as Kimi K3 writes it: elements whose tags are tokens of
// their own, so that a value stands between them as it is.
func (s *scan) kimi3() error {
	const sep, closed, open, end = "<|sep|>", "<|close|>call<|sep|>", "<|open|>argument ", "<|close|>argument<|sep|>"
	from := s.i
	head, ok := s.until(sep)
	if !ok {
		return errNot
	}
	name, err := s.tool(attribute(head, "tool"))
	if err != nil {
		return err
	}
	args := &value{Kind: '{'}
	for {
		s.skip("")
		switch {
		case s.take(closed):
			return s.add(name, "", args.Append(nil))
		case s.take(open):
			head, ok := s.until(sep)
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			text, ok := s.until(end)
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			key := attribute(head, "key")
			v := &value{Kind: '"', Text: text}
			if attribute(head, "type") != "string" {
				v = s.coerce(name, key, text)
			}
			args.Keys, args.Kids = append(args.Keys, key), append(args.Kids, v)
		case s.i >= len(s.s) || strings.HasPrefix(closed, s.s[s.i:]) || strings.HasPrefix(open, s.s[s.i:]):
			return s.broken(name, "", from, errEnd)
		default:
			return errNot
		}
	}
}
