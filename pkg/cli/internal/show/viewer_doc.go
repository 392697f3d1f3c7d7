// Package viewer shows a job's events to people as they come: a line for each call,
// what the model writes, and a last line with what is going on.
//
//	v := viewer.New(screen, past, window)
//	defer v.Close()
//	v.Sink(ev)
//
// What an event has to do with files, questions or the end of a job is its caller's.
package show
