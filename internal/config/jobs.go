package config

import (
	"fmt"
	"strconv"
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

func (j jobsSection) entries() []entry {
	if j.AtOnce == 0 {
		return []entry{{"jobs.at_once", "no bound", false}}
	}
	return []entry{{"jobs.at_once", strconv.Itoa(j.AtOnce), true}}
}
