package executor

import (
	"github.com/adroit-run/adroit/internal/executor/compaction"
	"github.com/adroit-run/adroit/pkg/llm"
)

const (
	leastResult = 600

	// answerRoom is left in the window for an answer whose size is not bounded.
	answerRoom = 4096
	leastRoom  = 512 // where prompt and tools take most of the window
)

// window is that of the model that the run has got to, in tokens; 0 if it is
// unknown.
func (t *Task) window(fell int) int {
	_, w := t.modelAt(fell)
	if w == 0 && t.Budget != nil {
		w = t.Budget.Window
	}
	return w
}

// knownWindow is the window if it is not a guess.
func (t *Task) knownWindow(s *State) int {
	if _, asked := t.modelAt(s.Fallback); asked > 0 {
		return asked
	}
	if t.Budget.Guess {
		return 0
	}
	return t.Budget.Window
}

// limit is how many tokens a request may have: the window without the room
// for the answer and a margin for what the estimate may be wrong by, or less
// if the provider has refused less. Zero is no limit.
func (t *Task) limit(s *State) int {
	n, g := 0, &s.Context
	if w := t.window(s.Fallback); w > 0 {
		room := t.Options.MaxTokens
		if room <= 0 {
			room = min(answerRoom, w/4)
			if g.tokens(g.Tools+g.Opening) > (w-room)/2 {
				// Room for a long answer is of no use if the job cannot begin.
				room = min(room, max(w/16, leastRoom))
			}
		}
		n = w - min(room, w/2) - w/20
	}
	if g.Cap > 0 && (n == 0 || g.Cap < n) {
		n = g.Cap
	}
	return n
}

// maxResultBytes is how many bytes of each result are shown if n results come at once;
// 0 is no bound. Together they take at most a third of what a request may have.
func (t *Task) maxResultBytes(s *State, n int) int {
	if t.Budget == nil || t.Budget.Result < 0 || t.tool(compaction.ReadResult) == nil {
		return 0
	}
	each, all := t.Budget.Result, t.limit(s)*s.Context.rate()/1000 // bytes
	if each == 0 {
		each = compaction.DefaultResult
		if all > 0 {
			each = min(each, all/8)
		}
	}
	if all > 0 {
		each = min(each, all/3/max(n, 1))
	}
	return max(each, leastResult)
}

func (g *contextUsage) rate() int {
	if g.Rate > 0 {
		return g.Rate
	}
	return compaction.FirstRate
}

func (g *contextUsage) tokens(weight int) int { return compaction.Tokens(weight, g.rate()) }

// A server's count is believed within these bounds of weight a token, in
// thousandths: tokenizers of single bytes exist, and so do servers that count
// nothing, or only what was new to them.
const (
	leastRate, mostRate = 500, 10_000
	enough              = 2000 // weight below which a rate is more about the template than about the text
)

// count takes the server's count of a request of some weight, tools included,
// that was estimated at so many tokens.
func (g *contextUsage) count(messages, estimate, in int) {
	weight := messages + g.Tools
	g.Weight, g.Tokens = messages, estimate
	if in <= 0 {
		return
	}
	rate := int(int64(weight) * 1000 / int64(in))
	if weight < enough {
		g.Extra = min(max(in-g.tokens(weight), 0), 2*enough)
		g.Tokens = max(estimate, min(in, 10*enough))
		return
	}
	if rate < leastRate || rate > mostRate {
		return
	}
	g.Rate, g.Tokens, g.Extra = rate, in, 0 // the rate has it now
}

// learn takes from a refusal that a request was too long which was estimated
// at so many tokens: it had more than the window has, if that is sure.
func (g *contextUsage) learn(estimate, window int) {
	if window > 0 && estimate > 0 && estimate < window {
		g.Rate = max(int(int64(g.rate())*int64(estimate)/int64(window))*9/10, leastRate/2)
		// What the server has counted is of the old rate no more than what is new.
		g.Tokens = int(int64(g.Tokens) * int64(window) / int64(estimate))
		return
	}
	g.Cap = estimate * 3 / 4
}

func weighTools(tools []Tool) int {
	n := 0
	for i := range tools {
		n += compaction.WeighTool(&tools[i].ToolSpec)
	}
	return n
}

// need estimates the next request in tokens.
func (s *State) need(t *Task) int {
	g := &s.Context
	if g.Tools == 0 {
		g.Tools = weighTools(t.Tools)
		g.Opening = compaction.Weigh(llm.Message{Text: t.System}, llm.Message{Text: t.Prompt})
	}
	if s.Head == "" {
		return g.Extra + g.tokens(g.Tools+compaction.Weigh(s.New...))
	}
	return g.Tokens + g.tokens(compaction.Weigh(s.New...))
}
