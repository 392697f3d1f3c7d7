package show

import (
	"slices"
	"testing"

	"github.com/adroit-run/adroit/pkg/adroit"
)

func TestNext(t *testing.T) {
	got := Next([]adroit.Action{
		{Do: "signal", Job: "J0", Signal: "approve"},
		{Do: "resume", Job: "J0"},
		{Do: "signal", Job: "J0", Signal: "verdict@2"},
		{Do: "resume", Job: "J1", Limit: "cost"},
		{Do: "resume", Job: "J1", Limit: "a limit of a later version"},
		{Do: "logs", Job: "J1", Follow: true},
		{Do: "diff", Job: "J1"},
	})
	want := []string{
		"adroit answer approve J0    adroit answer deny J0 WHY",
		"adroit answer J0 WORDS",
		"adroit continue J1 --max-cost USD",
		"adroit continue J1 --max-turns N",
		"adroit jobs logs J1 -f",
		"adroit jobs diff J1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
