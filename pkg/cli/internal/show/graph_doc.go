// Package graph draws what a job did from its events: its parts and steps, in lines or
// as a flowchart.
//
//	fmt.Print(graph.New(job, events, rate).Text())
package show
