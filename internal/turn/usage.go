package turn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A Usage records how much of the context window a run uses, in tokens, and what was done to fit.
// The server's own count is authoritative; messages since then are estimated by weight, at the
// rate that its counts imply.
type Usage struct {
	Tokens int `json:"tokens,omitempty"` // of the conversation that the model has
	Weight int `json:"weight,omitempty"` // of the same, in bytes of plain English
	Tools  int `json:"tools,omitempty"`  // weight of the task's tools
	// Opening is the weight of the system prompt and the task.
	Opening int `json:"opening,omitempty"`

	Rate  int `json:"rate,omitempty"`  // learnt: thousandths of weight a token
	Extra int `json:"extra,omitempty"` // tokens of the model's template, measured on a short request
	Limit int `json:"limit,omitempty"` // what a request may have
	Cap   int `json:"cap,omitempty"`   // learnt from a refusal: no request may have more
	// Window is the model's window as named in a refusal.
	Window int `json:"window,omitempty"`

	// In and Out are the tokens of the last request by the server's account; zero after a
	// compaction.
	In  int `json:"in,omitempty"`
	Out int `json:"out,omitempty"`

	Compactions int `json:"compactions,omitempty"`
	Dropped     int `json:"dropped,omitempty"`    // results
	Shortened   int `json:"shortened,omitempty"`  // results
	Summarised  int `json:"summarised,omitempty"` // turns
}

const (
	leastResult = 600 // bytes that are shown of a result in any case

	// answerRoom is left in the window for an answer whose size is not bounded.
	answerRoom = 4096
	leastRoom  = 512 // where prompt and tools take most of the window
)

// PerToken returns the rate that the server's counts imply, in thousandths of weight per token.
func (u *Usage) PerToken() int {
	if u.Rate > 0 {
		return u.Rate
	}
	return FirstRate
}

// Estimate converts a weight to tokens.
func (u *Usage) Estimate(weight int) int { return Tokens(weight, u.PerToken()) }

// Beginning estimates a conversation that the model has nothing of yet, its tools included.
func (u *Usage) Beginning(msgs []llm.Message) int {
	return u.Extra + u.Estimate(u.Tools+Weigh(msgs...))
}

// Continued estimates a conversation of which the model lacks msgs.
func (u *Usage) Continued(msgs []llm.Message) int { return u.Tokens + u.Estimate(Weigh(msgs...)) }

// Room returns the number of tokens that a request may have: the window less the room for an
// answer, which answer bounds unless it is 0, and less a margin for errors of the estimate; or
// less if the provider has refused less. Zero is no limit.
func (u *Usage) Room(window, answer int) int {
	n := 0
	if u.Window > 0 && (window == 0 || u.Window < window) {
		window = u.Window
	}
	if window > 0 {
		if answer <= 0 {
			answer = min(answerRoom, window/4)
			if u.Estimate(u.Tools+u.Opening) > (window-answer)/2 {
				// Room for a long answer is of no use if the job cannot begin.
				answer = min(answer, max(window/16, leastRoom))
			}
		}
		n = window - min(answer, window/2) - window/20
	}
	if u.Cap > 0 && (n == 0 || u.Cap < n) {
		n = u.Cap
	}
	return n
}

// ResultBytes returns the number of bytes to show of each of n results, at most bound of each
// unless that is 0. Together they take at most a third of the tokens that a request may have.
func (u *Usage) ResultBytes(bound, limit, n int) int {
	each, all := bound, limit*u.PerToken()/1000 // bytes
	if each == 0 {
		each = DefaultResult
		if all > 0 {
			each = min(each, all/8)
		}
	}
	if all > 0 {
		each = min(each, all/3/max(n, 1))
	}
	return max(each, leastResult)
}

// Share divides all bytes among some results: large ones get what small ones do not need.
func Share(sizes []int, all int) []int {
	out, order := make([]int, len(sizes)), make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return sizes[a] - sizes[b] })
	for n, i := range order {
		out[i] = min(sizes[i], all/(len(order)-n))
		all -= out[i]
	}
	return out
}

// A server's count is believed within these bounds of weight per token, in thousandths: tokenizers
// of single bytes exist, and so do servers that count nothing, or only new messages.
const (
	leastRate, mostRate = 500, 10_000
	enough              = 2000 // weight below which a rate is more about the template than about the text
)

// Count takes the server's count of a request of some weight, tools included,
// that was estimated at so many tokens.
func (u *Usage) Count(messages, estimate, in int) {
	weight := messages + u.Tools
	u.Weight, u.Tokens = messages, estimate
	if in <= 0 {
		return
	}
	rate := int(int64(weight) * 1000 / int64(in))
	if weight < enough {
		u.Extra = min(max(in-u.Estimate(weight), 0), 2*enough)
		u.Tokens = max(estimate, min(in, 10*enough))
		return
	}
	if rate < leastRate || rate > mostRate {
		return
	}
	u.Rate, u.Tokens, u.Extra = rate, in, 0 // the rate has it now
}

// Learn takes from a refusal that a request was too long which was estimated
// at so many tokens: it had more than the window has, if that is sure, or than the refusal
// named, if an estimate can be as wrong as that.
func (u *Usage) Learn(estimate, window, named int) {
	if named > 0 && named <= 4*estimate && estimate <= 8*named && (window == 0 || named < window) {
		u.Window = named
		if window = named; estimate >= named {
			return
		}
	}
	if window > 0 && estimate > 0 && estimate < window {
		u.Rate = max(int(int64(u.PerToken())*int64(estimate)/int64(window))*9/10, leastRate/2)
		// The server's count is as wrong as the estimate of the new messages.
		u.Tokens = int(int64(u.Tokens) * int64(window) / int64(estimate))
		return
	}
	u.Cap = estimate * 3 / 4
}

// ChangeModel resets the values that depend on another model's tokenizer and window.
func (u *Usage) ChangeModel() {
	u.Rate, u.Extra, u.Cap, u.Window, u.In, u.Out = 0, 0, 0, 0, 0, 0
	u.Tokens = u.Estimate(u.Weight + u.Tools)
}

// Thousands writes n as people read it.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// eventText bounds the part of a result that an event carries; the whole is in the journal.
const eventText = 4 << 10

// Excerpt returns s, or the part that an event carries: its beginning, and its end, where commands
// print what matters.
func Excerpt(s string) string {
	if len(s) <= eventText {
		return s
	}
	const end = eventText / 4
	return strings.ToValidUTF8(s[:eventText-end], "") + fmt.Sprintf("\n… (%d bytes in all)\n", len(s)) + strings.ToValidUTF8(s[len(s)-end:], "")
}

// DefaultResult is the most bytes of a result that are shown at once.
const DefaultResult = 16 << 10

// FirstRate is the assumed rate of a tokenizer before the server has counted anything, in
// thousandths of a unit of weight per token. English and code have about 3.3 bytes a token.
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

// Missing lists those of asked that none of the messages has.
func Missing(asked, msgs []llm.Message) []llm.Message {
	return slices.DeleteFunc(slices.Clone(asked), func(a llm.Message) bool {
		return slices.ContainsFunc(msgs, func(m llm.Message) bool {
			return m.Role == llm.User && strings.Contains("\n\n"+m.Text+"\n\n", "\n\n"+a.Text+"\n\n")
		})
	})
}

func WeighTool(t *llm.ToolSpec) int {
	return callWeight + Weight(t.Name) + Weight(t.Description) + Weight(string(t.Input))
}

// Reduce returns n, or so many tenths of the refused number if that is less.
func Reduce(n, refused, tenths int) int { return min(n, refused*tenths/10) }

// AcceptFiles is the tool that brings in files that a command made and a person has approved.
const AcceptFiles = "accept_files"

// A Held is files that a call's commands made and that are not in the workspace, since
// programs outside the sandbox obey files of their kind, or a rule asks about them.
type Held struct {
	What  string     `json:"what"` // each of them does, to stand behind its name
	Files []HeldFile `json:"files"`
	Kept  []string   `json:"kept"` // where each lies
}

// A HeldFile is one of them, as AcceptFiles takes it.
type HeldFile struct {
	Path       string `json:"path"`
	SHA256     string `json:"sha256"`
	Executable bool   `json:"executable,omitempty"`
	// Rule, in words, asks about it; empty where programs obey it. Was is the digest of the
	// file that it replaces.
	Rule string `json:"rule,omitempty"`
	Was  string `json:"was,omitempty"`
}
