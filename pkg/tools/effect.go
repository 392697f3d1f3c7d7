package tools

// Safe returns the effect that holds for m: the declared one, or the one its
// needs imply.
func (m Metadata) Safe() Effect {
	switch {
	case m.Effect != "":
		return m.Effect
	case m.Needs != 0 && m.Needs&^(Read|Think) == 0:
		return Pure
	}
	return Unsafe
}
