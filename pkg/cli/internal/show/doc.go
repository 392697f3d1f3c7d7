// Package render turns values into text for people: jobs, questions, changes, plans,
// outcomes. A renderer takes a value and returns text or writes to the stream that it is
// given; none of them opens files, asks anybody or ends the process.
//
//	render.Jobs(screen, list, time.Now(), names)
//
// Text that others wrote is sanitized before it reaches a terminal: package format. What
// is shown while a job runs is package viewer.
package show
