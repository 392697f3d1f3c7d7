package render

import (
	"slices"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
)

func TestNext(t *testing.T) {
	got := Next([]adroit.Action{
		{Do: adroit.ActionSignal, Job: "J1", Signal: "approve"},
		{Do: adroit.ActionResume, Job: "J1", Limit: "cost"},
		{Do: adroit.ActionResume, Job: "J1", Limit: "a limit of a later version"},
		{Do: adroit.ActionLogs, Job: "J1", Follow: true},
		{Do: adroit.ActionDiff, Job: "J1"},
	})
	want := []string{
		"adroit signal J1 approve",
		"adroit jobs resume J1 --max-cost USD",
		"adroit jobs resume J1 --max-turns N",
		"adroit jobs logs J1 -f",
		"adroit jobs diff J1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
