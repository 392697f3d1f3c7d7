package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/tools/podcast"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A transcriptionSection names the server that turns speech into text. See
// podcast.Transcription.
type transcriptionSection struct {
	Server  string        `yaml:"server"`
	URL     string        `yaml:"url"`
	Model   string        `yaml:"model"`
	KeyEnv  string        `yaml:"key_env"`
	Timeout time.Duration `yaml:"timeout"`
}

// podcastTools puts the tools as they are configured in the place of those that
// know of no server.
func (c *Config) podcastTools(list []tools.Tool) []tools.Tool {
	conf := podcast.Config{Transcription: podcast.Transcription(c.Transcription), Getenv: c.getenv}
	if dir, err := c.Data(); err == nil {
		conf.Jobs = filepath.Join(dir, "jobs")
	}
	return podcast.Configure(list, conf)
}

func (s transcriptionSection) check(at place) error {
	switch {
	case s == transcriptionSection{}:
		return nil
	case checkAddress(s.URL) != nil:
		return fail(fmt.Errorf("%s: transcription.url is %q", at("transcription", "url"), s.URL), "for example https://api.openai.com/v1 or http://127.0.0.1:8080")
	case s.Server != "" && !slices.Contains(podcast.SpeechServers, s.Server):
		return fail(fmt.Errorf("%s: transcription.server is %q", at("transcription", "server"), s.Server), "it is one of "+strings.Join(podcast.SpeechServers, ", "))
	}
	return nil
}
