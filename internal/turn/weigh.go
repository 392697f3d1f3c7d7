package turn

import "github.com/adroit-run/adroit/pkg/llm"

// DefaultResult is the most bytes of a result that are shown at once.
const DefaultResult = 16 << 10

// FirstRate is what is assumed of a tokenizer before the server has counted
// anything: thousandths of a unit of weight a token. English and code have
// about 3.3 bytes a token.
const FirstRate = 3300

// Tokens estimates how many tokens a weight is, at a rate of thousandths of
// weight a token.
func Tokens(weight, rate int) int { return (weight*1000 + rate - 1) / rate }

// weights has the weight of each byte in tenths of a byte of plain English:
// digits, punctuation and other scripts make more tokens than letters do.
// What a rune of several bytes weighs is counted with its first.
var weights = func() (w [256]uint8) {
	for b := range w {
		switch {
		case b >= 0xF0:
			w[b] = 60
		case b >= 0xE0:
			w[b] = 33
		case b >= 0xC0:
			w[b] = 17
		case b >= 0x80:
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == ' ', b == '\n', b == '\t':
			w[b] = 10
		case b >= '0' && b <= '9':
			w[b] = 13
		default:
			w[b] = 15
		}
	}
	return w
}()

func Weight(s string) int {
	n := 0
	for i := range len(s) {
		n += int(weights[s[i]])
	}
	return n / 10
}

const (
	roleWeight = 14 // what a template puts around a message
	callWeight = 30 // and around a call
)

// Tokens of an image: providers count by its pixels, and shrink a large one.
const (
	pixelsPerToken = 750
	leastImage     = 85
	mostImage      = 1600
)

func weighImage(i *llm.Image) int {
	tokens := mostImage
	if i.Width > 0 && i.Height > 0 && i.Width < mostImage*pixelsPerToken/i.Height {
		tokens = max(leastImage, i.Width*i.Height/pixelsPerToken)
	}
	return tokens * FirstRate / 1000
}

func Weigh(msgs ...llm.Message) int {
	n := 0
	for i := range msgs {
		m := &msgs[i]
		n += roleWeight + Weight(m.Text) + Weight(m.Name)
		for k := range m.Images {
			n += weighImage(&m.Images[k])
		}
		for _, c := range m.Calls {
			n += callWeight + Weight(c.Name) + Weight(string(c.Args))
		}
	}
	return n
}

func WeighTool(t *llm.ToolSpec) int {
	return callWeight + Weight(t.Name) + Weight(t.Description) + Weight(string(t.Input))
}

// Reduce is n, or so many tenths of what was refused if that is less.
func Reduce(n, refused, tenths int) int { return min(n, refused*tenths/10) }
