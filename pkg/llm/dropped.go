package llm

import "slices"

// Dropped is the note on an answer for which the model wrote something and
// the server passed on nothing: a call of an unknown tool, or one it could
// not parse. What was written cannot be had any more; telling the model helps.
const Dropped = "the server dropped a malformed tool call"

// Dropped reports whether the provider lost a call that the model made. Such
// an answer is no end of a turn.
func (r *Response) Dropped() bool { return slices.Contains(r.Notes, Dropped) }
