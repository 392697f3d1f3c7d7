package render

import (
	"slices"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
)

func TestNext(t *testing.T) {
	got := Next([]adroit.Action{
		{Do: adroit.ActionSignal, Job: "J0", Signal: "approve"},
		{Do: adroit.ActionResume, Job: "J0"},
		{Do: adroit.ActionSignal, Job: "J0", Signal: "verdict@2"},
		{Do: adroit.ActionResume, Job: "J1", Limit: "cost"},
		{Do: adroit.ActionResume, Job: "J1", Limit: "a limit of a later version"},
		{Do: adroit.ActionLogs, Job: "J1", Follow: true},
		{Do: adroit.ActionDiff, Job: "J1"},
	})
	want := []string{
		"adroit approve J0    adroit deny J0 WHY",
		"adroit signal J0 verdict",
		"adroit jobs resume J1 --max-cost USD",
		"adroit jobs resume J1 --max-turns N",
		"adroit jobs logs J1 -f",
		"adroit jobs diff J1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
