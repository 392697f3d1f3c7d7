package config

import (
	"fmt"
)

// jobsSection bounds what runs.
type jobsSection struct {
	AtOnce int `yaml:"at_once"`
}

func (j jobsSection) check(where string) error {
	if j.AtOnce < 0 {
		return fail(fmt.Errorf("%s: jobs.at_once is negative", where), "leave it out for no bound")
	}
	return nil
}
