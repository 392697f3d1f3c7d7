package habits

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/turn"
)

// files returns a task with files of so many lines of 41 bytes, and the fault of the first task.
func files(lines ...int) (*job, []raw) {
	j := &job{
		name: "many files", prompt: "calc.sh prints the wrong sum. Repair it; the other files say how.",
		files: map[string]string{"calc.sh": calc, "test.sh": check}, right: map[string]string{"calc.sh": repaired},
	}
	read := []raw{reads(map[string]any{"path": "calc.sh"})}
	for i, n := range lines {
		var b strings.Builder
		for k := range n {
			fmt.Fprintf(&b, "Note %04d of file %02d says nothing much.\n", k+1, i)
		}
		name := fmt.Sprintf("note%02d.md", i)
		j.files[name] = b.String()
		read = append(read, reads(map[string]any{"path": name}))
	}
	return j, read
}

// TestReadBudget makes a model read many files in one answer, on each wire: space that small ones
// leave goes to the large ones, and cut results are named once, at the end, with calls that
// continue from there.
func TestReadBudget(t *testing.T) {
	end := [][]raw{{edits("calc.sh", wrong, right), done}}
	for _, wire := range servers {
		t.Run(wire, func(t *testing.T) {
			j, read := files(280, 10, 10, 10, 10, 10, 10, 10, 10)
			s, got := runModel(t, habit{}, j, turn.Native, wire, func(m *model) { m.turns = append([][]raw{read}, end...) })
			for _, f := range got.faults() {
				t.Error(f)
			}
			if second := s.bodies[1]; got.requests != 2 || !strings.Contains(second, "Note 0280 of file 00") || strings.Contains(second, "cut after") {
				t.Errorf("%d requests; a file of 280 lines beside eight of ten is not shown whole", got.requests)
			}

			j, read = files(250, 250, 250, 250, 10)
			s, got = runModel(t, habit{}, j, turn.Native, wire, func(m *model) { m.turns = append([][]raw{read, nil}, end...); m.goOn = true })
			for _, f := range got.faults() {
				t.Error(f)
			}
			second := s.bodies[1]
			if n := strings.Count(second, "Together the results of this answer are too long."); n != 1 {
				t.Fatalf("what was cut is named %d times", n)
			}
			if n := strings.Count(second, "cut after line"); n != 4 || !strings.Contains(second, "Note 0010 of file 04") {
				t.Errorf("%d results are cut, want the four large ones", n)
			}
			third := s.bodies[2]
			for i := range 4 {
				for k := range 250 {
					if line := fmt.Sprintf("Note %04d of file %02d", k+1, i); strings.Count(third, line) != 1 {
						t.Fatalf("%s is shown %d times", line, strings.Count(third, line))
					}
				}
			}
		})
	}
}

// named returns the calls that the last result of a request suggests to continue with.
func named(body string) (out []raw) {
	var req struct{ Messages []json.RawMessage }
	if json.Unmarshal([]byte(body), &req) != nil || len(req.Messages) == 0 {
		return nil
	}
	for _, text := range texts(req.Messages[len(req.Messages)-1]) {
		_, list, ok := strings.Cut(text, "What was cut goes on with ")
		if !ok {
			continue
		}
		for {
			name, rest, _ := strings.Cut(list, " ")
			d := json.NewDecoder(strings.NewReader(rest))
			var args json.RawMessage
			if d.Decode(&args) != nil {
				break
			}
			out = append(out, raw{name, string(args)})
			if list, ok = strings.CutPrefix(rest[d.InputOffset():], ", "); !ok {
				break
			}
		}
	}
	return out
}

// texts returns all the texts in a message of any wire format.
func texts(v json.RawMessage) (out []string) {
	var s string
	var list []json.RawMessage
	var fields map[string]json.RawMessage
	switch {
	case json.Unmarshal(v, &s) == nil:
		return []string{s}
	case json.Unmarshal(v, &list) == nil:
	case json.Unmarshal(v, &fields) == nil:
		for _, f := range fields {
			list = append(list, f)
		}
	}
	for _, e := range list {
		out = append(out, texts(e)...)
	}
	return out
}

// TestReadThrice has a model read one file in three answers and twice in one of them: the
// conversation has it once, and once more when it has changed.
func TestReadThrice(t *testing.T) {
	for _, wire := range servers {
		t.Run(wire, func(t *testing.T) {
			j, read := files(100)
			again := read[1:2]
			turns := [][]raw{read, again, {again[0], reads(map[string]any{"path": "calc.sh"}), again[0]}, {edits("note00.md", "Note 0050 of", "Note fifty of")}, again,
				{edits("note00.md", "Note fifty of", "Note 0050 of"), edits("calc.sh", wrong, right), done}}
			s, got := runModel(t, habit{}, j, turn.Native, wire, func(m *model) { m.turns = turns })
			for _, f := range got.faults() {
				t.Error(f)
			}
			count := func(i int) int { return strings.Count(s.bodies[i], "Note 0049 of file 00") }
			if got := []int{count(1), count(2), count(3), count(5)}; !slices.Equal(got, []int{1, 1, 1, 2}) {
				t.Errorf("the file stands in the requests %v times, want 1, 1, 1 and, changed, 2", got)
			}
		})
	}
}

// TestSearchesThatFindNothing has a model search for twenty things that are not there: no two
// are the same, so nothing reminds it, and nothing stops it.
func TestSearchesThatFindNothing(t *testing.T) {
	j := &jobs[0]
	var turns [][]raw
	for i := range 20 {
		turns = append(turns, []raw{{"search", fmt.Sprintf(`{"pattern":"nowhere%d"}`, i)}})
	}
	turns = append(turns, []raw{reads(map[string]any{"path": "calc.sh"})}, []raw{edits("calc.sh", wrong, right), done})
	s, got := runModel(t, habit{}, j, turn.Native, "openai", func(m *model) { m.turns = turns })
	for _, f := range got.faults() {
		t.Error(f)
	}
	if last := s.bodies[len(s.bodies)-1]; got.status != "done" || got.requests != len(turns) || strings.Contains(last, "It will not help to go on like this") {
		t.Errorf("%s after %d requests: %s", got.status, got.requests, got.reason)
	}
}

// TestSilence makes a model return nothing, or only thinking, every time: on each wire it is shown
// its thinking, and the job ends in three requests with a message of its own.
func TestSilence(t *testing.T) {
	for _, wire := range servers {
		for what, a := range map[string]answer{"empty": {}, "thoughts": {thinking: "I should look at calc.sh first."}} {
			t.Run(wire+"/"+what, func(t *testing.T) {
				h := habit{times: always, does: func(situation) (answer, bool) { return a, true }}
				s, got := runModel(t, h, &jobs[0], turn.Native, wire, func(*model) {})
				if got.status != "went_silent" || got.requests != 3 {
					t.Errorf("%s after %d requests: %s", got.status, got.requests, got.reason)
				}
				if a.thinking != "" && !strings.Contains(s.bodies[1], a.thinking) {
					t.Error("the second request does not have what it thought")
				}
			})
		}
	}
}
