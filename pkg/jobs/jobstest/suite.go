package jobstest

import (
	"testing"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// Store runs the suite. open gives an empty store and closes it with the test.
func Store(t *testing.T, open func(t testing.TB) jobs.Store) {
	for _, tt := range []struct {
		name string
		f    func(*testing.T, jobs.Store)
	}{
		{"AddAndList", addAndList},
		{"Key", key},
		{"Claim", claim},
		{"ClaimRace", claimRace},
		{"Fence", fence},
		{"Queue", queue},
		{"QueueOfDead", queueOfDead},
		{"FinishJob", finishJob},
		{"TakeOver", takeOver},
		{"CrashLimit", crashLimit},
		{"CrashProgress", crashProgress},
		{"Reopen", reopen},
		{"ReopenFailed", reopenFailed},
		{"CancelUnheld", cancelUnheld},
		{"CancelHeld", cancelHeld},
		{"Remove", remove},
		{"Events", events},
		{"Follow", follow},
		{"FollowAll", followAll},
		{"Signals", signals},
		{"Inputs", inputs},
		{"Unknown", unknown},
		{"Blobs", blobs},
		{"SendEnded", sendEnded},
		{"Apart", apart},
		{"FollowEnds", followEnds},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.f(t, bound(open(t))) })
	}
}

// Manager runs the suite of jobs.Manager on a store.
func Manager(t *testing.T, open func(t testing.TB) jobs.Store) {
	for _, tt := range []struct {
		name string
		f    func(*testing.T, *bench)
	}{
		{"Done", done},
		{"Submit", submit},
		{"OwnStatus", ownStatus},
		{"Failed", failed},
		{"Panic", panics},
		{"Park", park},
		{"Stop", stop},
		{"Cancel", cancel},
		{"CancelFirst", cancelFirst},
		{"CancelWins", cancelWins},
		{"CancelDead", cancelDead},
		{"AtOnce", atOnce},
		{"LeaveQueue", leaveQueue},
		{"LeaseLost", leaseLost},
		{"Diverged", diverged},
		{"NoWorkflow", noWorkflow},
		{"Setup", setup},
		{"StoreFails", storeFails},
		{"EventsFail", eventsFail},
		{"OrderlyEnd", orderlyEnd},
		{"KillEverywhere", killEverywhere},
		{"Attend", attend},
		{"AttendAgain", attendAgain},
		{"AttendIdle", attendIdle},
		{"AttendEnds", attendEnds},
		{"AttendReopened", attendReopened},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.f(t, newBench(bound(open(t)))) })
	}
	t.Run("ResumeFailed", func(t *testing.T) { resumeFailed(t, func(t testing.TB) jobs.Store { return bound(open(t)) }) })
}
