package kit

import (
	"math"
	"regexp"
	"testing"
)

// palettes are the colours, as 0xRRGGBB, in which common terminals show the styles in
// use: text, red, green and magenta on a background.
var palettes = map[string]struct{ back, text, red, green, magenta int }{
	"xterm, dark":           {0x000000, 0xe5e5e5, 0xcd0000, 0x00cd00, 0xcd00cd},
	"xterm, light":          {0xffffff, 0x000000, 0xcd0000, 0x00cd00, 0xcd00cd},
	"Linux console":         {0x000000, 0xaaaaaa, 0xaa0000, 0x00aa00, 0xaa00aa},
	"GNOME, dark":           {0x300a24, 0xffffff, 0xcc0000, 0x4e9a06, 0x75507b},
	"GNOME, light":          {0xffffff, 0x2e3436, 0xcc0000, 0x4e9a06, 0x75507b},
	"macOS Terminal, light": {0xffffff, 0x000000, 0xc23621, 0x25bc24, 0xd338d3},
	"macOS Terminal, dark":  {0x000000, 0xffffff, 0xc23621, 0x25bc24, 0xd338d3},
	"Windows Terminal":      {0x0c0c0c, 0xcccccc, 0xc50f1f, 0x13a10e, 0x881798},
	"Solarized, dark":       {0x002b36, 0x839496, 0xdc322f, 0x859900, 0xd33682},
	"Solarized, light":      {0xfdf6e3, 0x657b83, 0xdc322f, 0x859900, 0xd33682},
}

// legible is the least contrast: at 2 text is read without effort, and xterm's yellow
// and cyan on white are below it.
const legible = 2

// What is painted is legible on dark and on light backgrounds: the styles are those of
// the terminal's own palette, and dim is as far from the background as half of the text.
func TestPalettes(t *testing.T) {
	for name, p := range palettes {
		for style, color := range map[string]int{"red": p.red, "green": p.green, "magenta": p.magenta, "dim": between(p.text, p.back)} {
			least := float64(legible)
			if style == "dim" { // what can be left out; terminals leave it more than half
				least = 1.8
			}
			if c := contrast(color, p.back); c < least {
				t.Errorf("%s: %s has a contrast of %.2f", name, style, c)
			}
		}
	}
	for style, color := range map[string]int{"yellow": 0xcdcd00, "cyan": 0x00cdcd} {
		if contrast(color, 0xffffff) >= legible {
			t.Errorf("%s is legible on white: it need not be left out", style)
		}
	}
	// No style sets a background, and none sets black or white.
	for _, s := range []string{Plain, Dim, Red, Green, Bold, Magenta, Italic} {
		if !regexp.MustCompile(`^([123]|3[125])?$`).MatchString(s) {
			t.Errorf("style %q is none of those that were looked at", s)
		}
	}
}

// between is the color half way from a to b, as terminals show dim text.
func between(a, b int) (color int) {
	for shift := 0; shift <= 16; shift += 8 {
		color |= (a>>shift&0xff + b>>shift&0xff) / 2 << shift
	}
	return color
}

// contrast is the ratio of the luminance of two colors, by WCAG: from 1 to 21.
func contrast(a, b int) float64 {
	light := func(color int) (sum float64) {
		for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
			c := float64(color>>(8*i)&0xff) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
