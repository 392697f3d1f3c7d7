package request

import (
	"reflect"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/executor"

	"github.com/spf13/pflag"
)

// A process in the background gets the options of whoever began it, each of them: a
// limit that is left behind does not hold.
func TestStartOptions(t *testing.T) {
	given := adroit.StartOptions{
		Limits: executor.Limits{Turns: 3, Tokens: 1 << 40, CostUSD: 0.1 + 0.2, Time: 90*time.Second + 1, Calls: map[string]int{"shell": 2}, Rejects: -1},
		AtOnce: 4, Live: true, DryRun: true,
	}
	for _, v := range []reflect.Value{reflect.ValueOf(given), reflect.ValueOf(given.Limits)} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s.%s has no value here", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
	var got adroit.StartOptions
	f := pflag.NewFlagSet("resume", pflag.ContinueOnError)
	Start(f, &got)
	if err := f.Parse([]string{"--" + startFlag, startValue{&given}.String()}); err != nil || !reflect.DeepEqual(got, given) {
		t.Errorf("%+v, %v; want %+v", got, err, given)
	}
	if err := f.Parse([]string{"--" + startFlag, `{"max_cost":1}`}); err == nil {
		t.Error("an option that this version does not know is taken")
	}
}
