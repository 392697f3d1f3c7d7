//go:build race

package main

// raced is what runs with the race detector unless -run names something else:
// sub-agents and branches at once, jobs that other processes follow, cancel and
// signal, the live line. Everything else runs without, since each program that
// a test starts would be several times slower; see internal/dev/race/packages.
const raced = `^(TestScripts|TestSignals|TestInterruptTwice|TestLiveLine|TestApproveAtTerminal|TestApproveSubAgentAtTerminal|TestPermissionAtTerminal)$` +
	`/^(cancel|waiting|resume|hooks|cliagents|subtrees|pipelineparallel|pipelinetime|pipelineawait|workflow_supervisor|interrupt|terminated|hangup)$`
