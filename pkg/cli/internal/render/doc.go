// Package render turns values into text for people: tables, questions, the
// live view of a job, drawings of what ran. A renderer takes a value and
// returns text or writes to the stream that it is given; none of them opens
// files, asks anybody or ends the process.
//
//	var t render.Table
//	t.Row("job", job.ID)
//	t.Write(os.Stdout)
//
// Text that others wrote is sanitized before it reaches a terminal. The JSON
// of --json is the value itself: see [JSON].
package render
