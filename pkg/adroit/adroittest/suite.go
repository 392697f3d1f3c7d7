package adroittest

import "testing"

// Test runs the suite.
func Test(t *testing.T, wrap Wrap) {
	for name, run := range map[string]func(*testing.T, *fixture){
		"run": testRun, "handle": testHandle, "run interrupted": testRunInterrupted, "transcript": testTranscript, "errors": testErrors, "question": testQuestion, "message": testMessage, "attach": testAttach, "changes": testChanges, "key": testKey,
		"cancel": testCancel, "catalog": testCatalog, "memory": testMemory, "show": testShow, "lint": testLint, "models": testModels, "failures": testFailures, "call": testCall, "doctor": testDoctor, "trust": testTrust, "remove": testRemove, "prune": testPrune, "merge": testMerge, "plan": testPlan, "stop": testStop, "live": testLive, "live from start": testLiveFromStart, "limits": testLimits, "queue": testQueue,
	} {
		t.Run(name, func(t *testing.T) { run(t, open(t, wrap)) })
	}
}
