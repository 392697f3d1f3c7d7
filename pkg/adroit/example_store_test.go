package adroit_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

// An auditedStore is a store that prints who asks for which job and what people answer. It
// keeps jobs as another store does, which may be that of a database: it overrides three
// methods of ten.
type auditedStore struct{ jobs.Store }

func (s auditedStore) Add(ctx context.Context, j *jobs.Job) (*jobs.Job, error) {
	added, err := s.Store.Add(ctx, j)
	if err == nil {
		fmt.Println("audit: asked for", added.Agent)
	}
	return added, err
}

func (s auditedStore) Send(ctx context.Context, job string, sig flow.Signal) error {
	err := s.Store.Send(ctx, job, sig)
	if err == nil {
		fmt.Println("audit: answered", sig.Name)
	}
	return err
}

func (s auditedStore) Remove(context.Context, string) error {
	return errors.New("jobs are kept for ten years")
}

// A store of the program's own audits jobs and refuses to delete them.
func Example_store() {
	ctx := context.Background()
	model := must(script.Parse("turns", []byte(`turns:
  - calls: [{name: refund, args: {euros: 90}}]
  - text: It is paid.`)))
	store := auditedStore{new(jobs.Memory)}
	rt := must(adroit.Open(ctx, adroit.Options{
		Tools: []tools.Tool{refund}, Models: map[string]llm.Model{"script": model}, Model: "script/turns",
		Storage:   adroit.Storage{Store: func(context.Context) (jobs.Store, error) { return store, nil }},
		Callbacks: adroit.Callbacks{Policy: limit},
	}))
	defer rt.Close()
	cashier := agents.DynamicAgent{Name: "cashier", Description: "Pay back.", Prompt: "You pay back.", Tools: []string{"refund"}}
	job := must(adroit.Start(ctx, rt, adroit.Request{Input: agents.Input{Spec: &cashier, Prompt: "Pay 90 back."}}))
	_, err := job.Wait(ctx)
	if waits := new(adroit.StatusError); errors.As(err, &waits) {
		fmt.Println("job:", waits.Job.Status)
	}
	for _, q := range must(job.Questions(ctx)) {
		must(q, job.Approve(ctx, q))
	}
	must(job.Start(ctx, adroit.StartOptions{}))
	fmt.Println(must(job.Wait(ctx)).Last)
	_, err = rt.Remove(ctx, job.ID(), adroit.RemoveOptions{})
	fmt.Println(err)
	// Output:
	// audit: asked for cashier
	// job: waiting
	// audit: answered approve@1.2
	// refunded 90
	// It is paid.
	// jobs are kept for ten years
}
