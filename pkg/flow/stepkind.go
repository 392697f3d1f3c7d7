package flow

const (
	KindSleep  = "sleep"
	KindAwait  = "await"
	KindCall   = "call"
	Note       = "note"
	KindSpawn  = "spawn"  // a child begins
	Return     = "return" // a child has ended
	Checkpoint = "checkpoint"
	Restore    = "restore"
)

// A Role is what an engine does with steps of a kind. The zero value is that of kinds
// that a handler performs.
type Role int

const (
	Handled   Role = iota
	Mark           // journals that the run came by, and nothing else
	Pause          // waits for a time
	Question       // waits for a signal
	KindState      // keeps or gives a state; it is not journaled as a step
)

// Roles has every kind that engines perform themselves: what they have in common is
// decided by it, and a kind that is missing is refused for lack of a handler.
var Roles = map[string]Role{
	KindSleep: Pause, KindAwait: Question, KindCall: Mark, Note: Mark, KindSpawn: Mark, Return: Mark, Checkpoint: KindState, Restore: KindState,
}
