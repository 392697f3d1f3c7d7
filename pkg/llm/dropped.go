package llm

import "slices"

// DroppedCall is the note on an answer whose tool call the server discarded: a
// call of an unknown tool, or one it could not parse. The text of the call is
// lost; reporting that to the model helps.
const DroppedCall = "the server dropped a malformed tool call"

// Dropped reports whether the provider lost a call that the model made. Such
// an answer is no end of a turn.
func (r *Response) Dropped() bool { return slices.Contains(r.Notes, DroppedCall) }
