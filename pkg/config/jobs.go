package config

// jobsSection bounds what runs.
type jobsSection struct {
	AtOnce int `yaml:"at_once"`
}
