// Package show turns values into text for people: jobs, questions, changes, plans,
// outcomes, graphs of what a job did, and its events as they come. It takes values and
// returns text or writes to the stream that it is given; it opens no files, asks nobody
// and ends no process.
//
//	show.Jobs(screen, list, time.Now(), names)
//
// Text that others wrote is sanitized before it reaches a terminal: see package kit.
package show
