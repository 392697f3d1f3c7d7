package config

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// logSection is the log for operators.
type logSection struct {
	Level  string `yaml:"level"`
	Format string `yaml:"format"`
	File   string `yaml:"file"` // a leading ~/ is the home directory
}

func (l logSection) check(at place) error {
	if l.Level != "" && !slices.Contains(jobs.Levels, l.Level) {
		return fail(fmt.Errorf("%s: log.level is %q", at("log", "level"), l.Level), "it is one of "+strings.Join(jobs.Levels, ", "))
	}
	if l.Format != "" && !slices.Contains(jobs.Formats, l.Format) {
		return fail(fmt.Errorf("%s: log.format is %q", at("log", "format"), l.Format), "it is one of "+strings.Join(jobs.Formats, ", "))
	}
	return nil
}

// OpenLog opens the log for operators: nil without one. end closes it.
func (c *Config) OpenLog(stderr io.Writer) (l *slog.Logger, end func() error, err error) {
	l, end, err = jobs.Open(jobs.Options{Level: c.Log.Level, Format: c.Log.Format, File: c.expand(c.Log.File)}, stderr)
	if err != nil {
		return nil, nil, fail(err, "name another file in log.file")
	}
	return l, end, nil
}
