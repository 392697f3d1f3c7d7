package podcast

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/adroit-run/adroit/internal/lazyregexp"
	"github.com/adroit-run/adroit/internal/workspace/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

// What Apple asks of a podcast: -16 LUFS, true peaks below -1 dBTP. Between the
// samples and in the encoder peaks grow by about a decibel.
const (
	target  = -16.0
	peakMax = -2.5
)

// A level is the loudness of a file by EBU R 128, as the filter ebur128 measures
// it. Silence is -99.
type level struct {
	Integrated float64 // LUFS
	Peak       float64 // dBTP
}

// loudness measures the loudness of a recording behind a chain of filters,
// which may be empty.
func loudness(ctx context.Context, env *tools.Env, name, filter string) (level, error) {
	if filter != "" {
		filter += ","
	}
	args := slices.Concat([]string{"ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-loglevel", "info"}, guard(),
		[]string{"-i", arg(env, name), "-map", "0:a:0", "-vn", "-af", filter + "ebur128=peak=true:framelog=verbose", "-f", "null", "-"})
	_, log, err := command(ctx, env, process.Cmd{Args: args, Timeout: patience})
	if err != nil {
		return level{}, fmt.Errorf("the loudness of %q cannot be measured: %w", name, err)
	}
	return parseLevel(log)
}

var (
	loudnessLine = lazyregexp.New(`(?m)^\s*I:\s+(\S+) LUFS`)
	peakLine     = lazyregexp.New(`(?m)^\s*Peak:\s+(\S+) dBFS`)
)

// parseLevel reads the summary at the end of what ffmpeg reports.
func parseLevel(log string) (level, error) {
	var l level
	for _, f := range []struct {
		line *lazyregexp.Regexp
		into *float64
	}{{loudnessLine, &l.Integrated}, {peakLine, &l.Peak}} {
		all := f.line.FindAllStringSubmatch(log, -1)
		if all == nil {
			return level{}, errors.New("ffmpeg reported no loudness; its filter ebur128 is needed")
		}
		v, err := strconv.ParseFloat(all[len(all)-1][1], 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			v = -99
		}
		*f.into = max(v, -99)
	}
	return l, nil
}

// quietest is the loudness below which there is nothing to level.
const quietest = -60.0

// normalize finds the chain of filters that brings a recording to the target:
// one gain for all of it, and a limiter where that alone would make peaks too
// high, so that the dynamics stay as they were mixed. What the limiter takes
// away is measured and added to the gain.
func normalize(ctx context.Context, env *tools.Env, m mediaInfo) (string, error) {
	l, err := loudness(ctx, env, m.Path, "")
	if err != nil {
		return "", err
	}
	if l.Integrated < quietest {
		return "", fmt.Errorf("the recording measures %.1f LUFS: it is silent, or nearly; set keep_level to leave it so", l.Integrated)
	}
	rate := m.Rate
	if rate != 44100 && rate != 48000 {
		rate = 44100
	}
	gain := target - l.Integrated
	if l.Peak+gain <= peakMax {
		return fmt.Sprintf("volume=%.2fdB,aresample=%d", gain, rate), nil
	}
	for range 5 {
		filter := fmt.Sprintf("volume=%.2fdB,aresample=%d,alimiter=limit=%.4f:attack=5:release=50:level=false:latency=true", gain, rate, math.Pow(10, peakMax/20))
		got, err := loudness(ctx, env, m.Path, filter)
		if err != nil {
			return "", err
		}
		if math.Abs(got.Integrated-target) < tolerance/3 {
			return filter, nil
		}
		gain += 1.5 * (target - got.Integrated) // the limiter takes about half of what is added
	}
	return "", fmt.Errorf("the peaks of the recording are too high above its loudness to bring it to %.0f LUFS; compress it, or set keep_level", target)
}
