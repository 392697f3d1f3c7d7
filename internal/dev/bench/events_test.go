package bench

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/api"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A BenchmarkReaders operation is one event of each job, from the commit until all readers have it over
// HTTP: a thousand readers of one job, and a hundred jobs with a reader each and one of all.
func BenchmarkReaders(b *testing.B) {
	for _, bb := range []struct {
		name          string
		jobs, readers int // of each job
		all           int // of all jobs
	}{{"1Job", 1, 1, 0}, {"1JobOf1000Readers", 1, 1000, 0}, {"100Jobs", 100, 1, 1}} {
		b.Run(bb.name, func(b *testing.B) {
			db := database(b, filepath.Join(b.TempDir(), "a.db"))
			rt, err := adroit.Open(b.Context(), adroit.Options{Models: map[string]llm.Model{"x": nil}, Storage: adroit.Storage{Data: b.TempDir(), Store: func(context.Context) (jobs.Store, error) { return db, nil }}})
			if err != nil {
				b.Fatal(err)
			}
			defer rt.Close()
			s := httptest.NewServer(api.Handler(rt))
			defer s.Close()
			s.Client().Transport.(*http.Transport).MaxConnsPerHost = 0
			journals := make([]jobs.Journal, bb.jobs)
			for i := range journals {
				if _, err := db.Add(b.Context(), &jobs.Job{ID: fmt.Sprintf("J%05d", i)}); err != nil {
					b.Fatal(err)
				}
				if _, journals[i], err = db.Claim(b.Context(), fmt.Sprintf("J%05d", i), "bench", time.Hour); err != nil {
					b.Fatal(err)
				}
			}
			ctx, stop := context.WithCancel(b.Context())
			var open, have sync.WaitGroup
			var readings sync.WaitGroup
			defer readings.Wait()
			defer stop()
			read := func(path string) {
				open.Add(1)
				readings.Go(func() {
					r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
					if err != nil {
						b.Error(err)
						return
					}
					res, err := s.Client().Do(r)
					if open.Done(); err != nil {
						b.Error(err)
						return
					}
					defer res.Body.Close()
					for lines := bufio.NewScanner(res.Body); lines.Scan(); {
						if strings.HasPrefix(lines.Text(), "data:") {
							have.Done()
						}
					}
				})
			}
			for i := range bb.jobs {
				for range bb.readers {
					read(fmt.Sprintf("/v1/jobs/events?follow=true&job=J%05d", i))
				}
			}
			for range bb.all {
				read("/v1/events?follow=true")
			}
			open.Wait()
			each := bb.jobs * (bb.readers + bb.all)
			for b.Loop() {
				have.Add(each)
				for _, j := range journals {
					if err := j.Append(b.Context(), event.Event{Kind: event.Note, Text: "a line of some length, as a step has it"}); err != nil {
						b.Fatal(err)
					}
				}
				for _, j := range journals {
					if err := j.Sync(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				have.Wait()
			}
			b.ReportMetric(float64(each*b.N)/b.Elapsed().Seconds(), "deliveries/s")
		})
	}
}
