package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseAge parses a duration, which may be in days or weeks: 30d, 2w, 12h.
func ParseAge(s string) (time.Duration, error) {
	day := 24 * time.Hour
	for unit, d := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			if k, err := strconv.Atoi(n); err == nil && k >= 0 && k < 100_000 {
				return time.Duration(k) * d, nil
			}
		}
	}
	d, err := time.ParseDuration(s)
	if err == nil && d < 0 {
		err = errors.New("an age is not below zero")
	}
	if err != nil {
		return 0, fmt.Errorf("%q is no age", s)
	}
	return d, nil
}
