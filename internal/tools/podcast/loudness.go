package podcast

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/work/process"
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

// loudness measures a recording.
func loudness(ctx context.Context, env *tools.Env, name string) (level, error) {
	log, err := measured(ctx, env, name, "ebur128=peak=true:framelog=verbose")
	if err != nil {
		return level{}, err
	}
	var l level
	if l.Integrated, err = lastFigure(log, loudnessLine); err != nil {
		return level{}, err
	}
	l.Peak, err = lastFigure(log, peakLine)
	return l, err
}

// filtered measures how loud a recording is behind a chain of filters, without its
// peaks: those take as much time as all the rest.
func filtered(ctx context.Context, env *tools.Env, name, filter string) (float64, error) {
	log, err := measured(ctx, env, name, filter+",ebur128=framelog=verbose")
	if err != nil {
		return 0, err
	}
	return lastFigure(log, loudnessLine)
}

// measured is what ffmpeg reports of a recording behind a chain of filters.
func measured(ctx context.Context, env *tools.Env, name, filter string) (log string, err error) {
	args := slices.Concat([]string{"ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-loglevel", "info"}, guard(),
		[]string{"-i", arg(env, name), "-map", "0:a:0", "-vn", "-af", filter, "-f", "null", "-"})
	if _, log, err = command(ctx, env, process.Cmd{Args: args, Timeout: patience}); err != nil {
		return "", fmt.Errorf("the loudness of %q cannot be measured: %w", name, err)
	}
	return log, nil
}

var (
	loudnessLine = lazyregexp.New(`(?m)^\s*I:\s+(\S+) LUFS`)
	peakLine     = lazyregexp.New(`(?m)^\s*Peak:\s+(\S+) dBFS`)
)

// lastFigure reads a line of the summary at the end of what ffmpeg reports.
func lastFigure(log string, line *lazyregexp.Regexp) (float64, error) {
	all := line.FindAllStringSubmatch(log, -1)
	if all == nil {
		return 0, errors.New("ffmpeg reported no loudness; its filter ebur128 is needed")
	}
	v, err := strconv.ParseFloat(all[len(all)-1][1], 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		v = -99
	}
	return max(v, -99), nil
}

// quietest is the loudness below which there is nothing to level.
const quietest = -60.0

// normalize finds the chain of filters that brings a recording to the target:
// one gain for all of it, and a limiter where that alone would make peaks too
// high, so that the dynamics stay as they were mixed. What the limiter takes
// away is measured and added to the gain.
func normalize(ctx context.Context, env *tools.Env, m mediaInfo) (string, error) {
	l, err := loudness(ctx, env, m.Path)
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
		got, err := filtered(ctx, env, m.Path, filter)
		if err != nil {
			return "", err
		}
		if math.Abs(got-target) < tolerance/3 {
			return filter, nil
		}
		gain += 1.5 * (target - got) // the limiter takes about half of what is added
	}
	return "", fmt.Errorf("the peaks of the recording are too high above its loudness to bring it to %.0f LUFS; compress it, or set keep_level", target)
}
