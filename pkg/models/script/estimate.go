package script

import "github.com/adroit-run/adroit/pkg/llm"

// perToken is how many bytes of English, code and JSON a token is about.
const perToken = 3.3

// estimate is what a server would count, about: all that is sent, each time it
// is sent, and what is said. Nothing is taken for cached.
func estimate(req *llm.Request, answer *llm.Message) llm.Usage {
	in := len(req.Output)
	for i := range req.Messages {
		in += bytesOf(&req.Messages[i])
	}
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Input) + around
	}
	return llm.Usage{In: int(float64(in) / perToken), Out: int(float64(bytesOf(answer)) / perToken)}
}

// around is what a chat template puts around a message or a tool, in bytes.
const around = 16

func bytesOf(m *llm.Message) int {
	n := len(m.Text) + len(m.Thinking) + around
	for _, c := range m.Calls {
		n += len(c.Name) + len(c.Args) + around
	}
	return n
}
