// Package format puts values and text into the form that people read on a terminal:
// escaped, cut and broken to a width, in tables, with units.
//
//	var t format.Table
//	t.Row("job", job.ID, format.Ago(now, job.Begun))
//	t.Write(os.Stdout)
//
// It knows no value of the program. The JSON of --json is the value itself: see [JSON].
package kit
