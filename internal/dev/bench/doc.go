// Package bench measures what adroit costs beside what it does: the agent
// loop against a loop written by hand over net/http, journals against plain
// SQLite commits, a thousand agents at once, a job of ten thousand turns.
//
//	make bench
//
// It has only tests and benchmarks. Benchmarks report ratios to something
// real of the same run and assert nothing about time; what must hold whatever
// the machine (nothing lost, nothing replayed twice, flat memory) is tested.
// The figures are in docs/performance.md.
package bench
