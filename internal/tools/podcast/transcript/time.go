package transcript

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// maxTime is the longest that an episode may be, in seconds. What lies beyond
// is a mistake or an attack, and arithmetic stays exact below it.
const maxTime = 100 * 3600

// clock is a time as transcripts write it: hours may be left out, the fraction
// has a point or a comma, or three digits behind a colon.
var clock = lazyregexp.New(`^(?:(\d{1,4}):)?(\d{1,3}):(\d{1,2})(?:[.,](\d{1,9})|:(\d{3}))?$`)

// ParseTime reads 01:02:03.500, 2:03,5 or 2:03 as seconds.
func ParseTime(s string) (float64, bool) {
	m := clock.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, false
	}
	h, _ := strconv.Atoi("0" + m[1]) // digits, or none
	min, _ := strconv.Atoi(m[2])     // digits
	sec, _ := strconv.Atoi(m[3])     // digits
	t := float64(h)*3600 + float64(min)*60 + float64(sec)
	if digits := m[4] + m[5]; digits != "" {
		f, _ := strconv.ParseFloat("0."+digits, 64)
		t += f
	}
	return Millis(t), sec < 60 && t <= maxTime
}

// Millis rounds to what formats can write.
func Millis(t float64) float64 { return math.Round(t*1000) / 1000 }

// Sane reports whether t can be a time in an episode.
func Sane(t float64) bool { return t >= 0 && t <= maxTime } // false for NaN, too

// Stamp writes seconds as 1:02:03, for people.
func Stamp(t float64) string {
	s := int(t)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Seconds writes a time as models read and repeat it without arithmetic.
func Seconds(t float64) string { return strconv.FormatFloat(Millis(t), 'f', -1, 64) }
