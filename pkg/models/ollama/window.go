package ollama

// Limits bound the context window of a job. The zero value leaves all to the
// model.
type Limits struct {
	Want   int   // in tokens; 0 means 32768
	Budget int   // all the tokens that the job may use; 0 for no limit
	Memory int64 // bytes that the window may take; 0 if unknown
}

const (
	usualWindow = 32768
	leastWindow = 4096 // an agent's prompt and tools alone take half of it
)

// Window chooses the context window of a job: Want if the model can have it,
// else the most it can. With Want 0 it is 32768, or less if the model was made
// for less; a model of unknown size gets what is wanted.
//
// The window is for the life of a job: with another one, the server
// would load the model again. It is a multiple of 1024 where memory or budget
// bound it, and never less than 4096 for their sake.
func (i Info) Window(l Limits) int {
	n := l.Want
	if n <= 0 {
		n = usualWindow
	}
	if i.Context > 0 {
		n = min(n, i.Context)
	}
	least := min(n, leastWindow)
	round := func(m int64) int {
		if m >= int64(n) {
			return n
		}
		return max(least, int(m)/1024*1024)
	}
	if l.Budget > 0 {
		n = round(int64(l.Budget))
	}
	if l.Memory > 0 && i.PerToken > 0 {
		n = round(l.Memory / i.PerToken)
	}
	return n
}
