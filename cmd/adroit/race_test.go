//go:build race

package main

// raced matches the tests that run with the race detector unless -run names others:
// sub-agents and branches at once, jobs that other processes follow, cancel and signal,
// the live line. All others run without, since each program that a test starts would be
// several times slower; see internal/dev/race/packages.
const raced = `^(TestScripts|TestSignals|TestInterruptTwice|TestLiveLine|TestApproveAtTerminal|TestApproveSubAgentAtTerminal|TestPermissionAtTerminal)$` +
	`/^(cancel|waiting|resume|hooks|cliagents|subtrees|pipelineparallel|pipelinetime|pipelineawait|workflow_supervisor|interrupt|terminated|hangup)$`
