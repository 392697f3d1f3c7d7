package podcast

import (
	"fmt"
	"math"

	"github.com/adroit-run/adroit/pkg/tools"
)

// caption writes the file of title and captions, or reports why there is none.
func (c *cutting) caption(env *tools.Env) (why string, err error) {
	text, captions := c.layout.subtitles(c.said, c.in.Title, c.start, c.start+c.long, !c.in.Audiogram)
	if !captions {
		why = "the transcript has nothing there, or no times"
	}
	if text == "" {
		return why, nil
	}
	name := c.subtitleFile(env)
	if err := env.Files.WriteFile(name, []byte(text)); err != nil {
		return "", err
	}
	c.subtitles, c.captions = name, captions
	return why, nil
}

func assTime(t float64) string {
	cs := int(math.Round(t * 100))
	return fmt.Sprintf("%d:%02d:%02d.%02d", cs/360000, cs/6000%60, cs/100%60, cs%100)
}
