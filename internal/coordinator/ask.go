package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/flow"
)

// escalate has a person decide, if one is to be asked. end is the result if that is
// the end.
func (c *Coordinator) escalate(p *Problem, at *Attempt) (end *Result, err error) {
	act := at.Action
	if c.asked++; c.o.Escalate != "" && c.o.Escalate != Ask || c.asked > mostQuestions {
		if c.o.Escalate == Never {
			return c.end(at, Failed, act.Reasoning, act.Hint), nil
		}
		return c.end(at, Escalated, act.Reasoning, act.Hint), nil
	}
	if at.Answer, at.Words, err = c.ask(p, act); err != nil {
		return nil, err
	}
	switch at.Answer {
	case "continue":
		c.left = c.o.attempts() + 1
		c.tried, c.used = map[string]bool{}, map[string]int{} // a person has changed what it depends on
		if at.Words != "" {
			c.words, c.advised = at.Words, c.analyses()
		}
		return nil, nil
	case "abort":
		return c.end(at, Aborted, "a person said abort: "+act.Reasoning, act.Hint), nil
	}
	return c.end(at, Unanswered, fmt.Sprintf("nobody answered within %s: %s", c.o.patience(), act.Reasoning), act.Hint), nil
}

// A Question is what a person is asked.
type Question struct {
	Question string  `json:"question"`
	Problem  Problem `json:"problem"`
	Action   Action  `json:"action"`
}

// ask waits for a person, who may answer from anywhere, once. It returns continue,
// abort, or "" if nobody answers in time, and what the person says besides.
func (c *Coordinator) ask(p *Problem, act Action) (answer, words string, err error) {
	about := Question{Problem: *p, Action: act, Question: fmt.Sprintf("%s. %s Then continue runs it again; abort gives up.", strings.TrimSuffix(spelling.FirstLine(act.Reasoning), "."), act.Hint)}
	about.Problem.Output = tail(p.Output, 2000)
	at := "@" + c.sc.Run.Next()
	sig, err := flow.AwaitAny(c.sc.Run, about, c.o.patience(), "continue"+at, "abort"+at)
	if se, ok := errors.AsType[*flow.StepError](err); ok && se.Code == flow.TimedOut {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	c.sc.Untrusted() // whoever may send signals may not be who runs the job
	name, _, _ := strings.Cut(sig.Name, "@")
	_ = json.Unmarshal(sig.Value, &words) // what is no text says nothing
	return name, clip(words, 2000), nil
}
