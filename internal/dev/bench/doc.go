// Package bench measures adroit's overhead: the agent loop against a loop written by hand over
// net/http, journals against plain SQLite commits, a thousand agents at once, a job of ten
// thousand turns.
//
//	make bench
//
// It has only tests and benchmarks. Benchmarks report ratios to something real of the same run and
// assert nothing about time; properties that must hold on any machine (nothing lost, nothing
// replayed twice, flat memory) are tested. The figures are in docs/dev/performance.md.
package bench
