// Package stepkind names the kinds of steps that every engine performs itself,
// without a handler. Checkpoint and
// Restore are not journaled as steps.
package stepkind

const (
	Sleep      = "sleep"
	Await      = "await"
	Call       = "call"
	Note       = "note"
	Spawn      = "spawn"  // a child begins
	Return     = "return" // a child has ended
	Checkpoint = "checkpoint"
	Restore    = "restore"
)
