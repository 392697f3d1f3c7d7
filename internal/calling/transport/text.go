package transport

import "strings"

// A text puts a text together from the pieces of a stream. Servers that send all so
// far in each piece, or all of it again in the last, are seen through.
type text struct {
	all    strings.Builder
	pieces int
	half   string // the beginning of a character
	// held is a second piece that begins with the first. If the third begins with it in turn,
	// each piece holds all so far.
	held  string
	grows bool
	added bool // by pieces, not by wholes
}

// certain is the length from which on a text does not come twice by chance.
const certain = 8

// add takes a piece of a stream that has got to now, and returns what of it is new.
func (t *text) add(piece string, now phase) string {
	t.added = t.added || piece != ""
	out := ""
	if held := t.held; held != "" && (piece != "" || now != going) {
		t.held = ""
		whole, _ := join(held)
		if t.grows = piece != "" && strings.HasPrefix(piece, whole) || piece == "" && t.all.Len() >= certain; t.grows {
			held, t.half = held[t.all.Len():], ""
		}
		out = t.keep(held)
	}
	had := t.all.String()
	whole, tail := join(piece)
	longer := had != "" && len(piece) > len(had) && strings.HasPrefix(whole, had)
	switch {
	case piece == "":
		return out
	case t.grows && !longer && strings.HasPrefix(had, whole):
		return out
	case t.grows && longer, t.pieces == 1 && longer && now != going && len(had) >= certain:
		t.half = ""
		return out + t.keep(whole[len(had):]+tail)
	case now != going && had != "" && strings.TrimSpace(whole) == strings.TrimSpace(had) && (now == ended || t.pieces > 2 || len(had) >= certain):
		return out
	case t.pieces == 1 && longer && strings.Trim(whole, whole[:1]) != "":
		t.held = piece
		return out
	}
	return out + t.keep(piece)
}

// keep appends what is new.
func (t *text) keep(piece string) string {
	if piece == "" {
		return ""
	}
	t.pieces++
	piece, t.half = join(t.half + piece)
	t.all.WriteString(piece)
	return piece
}

// addWhole takes all that came so far, or a part of it, and returns what of it is new.
func (t *text) addWhole(s string) string {
	s = joined(s)
	out := t.flush(s)
	had := t.all.String()
	switch {
	case strings.HasPrefix(s, had):
		return out + t.keep(s[len(had):])
	case t.added || strings.HasPrefix(had, s):
		return out
	}
	return out + t.keep(s)
}

// flush returns what was held back. all is what came so far as the server sees it, ""
// if it did not send that.
func (t *text) flush(all string) string {
	held, had := t.held, t.all.String()
	if t.held = ""; held == "" {
		return ""
	}
	whole, _ := join(held)
	t.grows = all == "" && len(had) >= certain || all != "" && !strings.HasPrefix(all, had+whole) && strings.HasPrefix(all, whole)
	if t.grows {
		held, t.half = held[len(had):], ""
	}
	return t.keep(held)
}

// close returns what is left at the end.
func (t *text) close() string {
	out := t.flush("")
	if t.half != "" {
		last := joined(t.half)
		t.half = ""
		t.all.WriteString(last)
		out += last
	}
	return out
}
