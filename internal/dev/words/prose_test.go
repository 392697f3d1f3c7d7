package words

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxWords is how many words a sentence of a page for users may have; code in backquotes is one.
const maxWords = 25

var (
	// clumsy are phrases that make a reader look twice.
	clumsy    = regexp.MustCompile(`(?i)\b(?:that of|is no|holds|for ever)\b`)
	comments  = regexp.MustCompile(`(?s)<!--.*?-->`)
	marker    = regexp.MustCompile(`^(?:#+|[*-]|\d+\.) `)
	inline    = regexp.MustCompile("`[^`]*`")
	target    = regexp.MustCompile(`\]\([^)]*\)`)
	stop      = regexp.MustCompile(`[.!?]["')]*\s+`)
	emphasis  = strings.NewReplacer("[", "", "]", "", "*", "", "_", "")
	wordThere = regexp.MustCompile(`\w`)
)

// TestProse fails where a page for users, or README, has a sentence of more than 25 words or a
// clumsy phrase. prose.txt has how many the generated references still have; the counts may only
// fall.
func TestProse(t *testing.T) {
	allowed := list(t, "prose.txt")
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	var b bytes.Buffer
	b.WriteString("# How many long sentences and clumsy phrases a generated page still has. Written by -update; only ever lower it.\n")
	for _, name := range append(pages, "../../../README.md") {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rel := strings.TrimPrefix(filepath.ToSlash(name), "../../../")
		faults, limit := proseFaults(string(page)), 0
		fmt.Sscan(allowed[rel], &limit)
		if limit > 0 && !bytes.HasPrefix(page, []byte("<!-- Generated")) {
			t.Errorf("%s is written by hand, so prose.txt can't excuse it", rel)
		}
		if len(faults) > limit {
			t.Errorf("%s has %d sentences to mend, %d allowed:\n%s", rel, len(faults), limit, strings.Join(faults, "\n"))
		}
		if n := min(len(faults), limit); n > 0 {
			fmt.Fprintf(&b, "%s %d\n", rel, n)
		}
	}
	if *update {
		if err := os.WriteFile("prose.txt", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProseFaults: headings, items of lists and cells of tables are sentences of their own; code is
// not read.
func TestProseFaults(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", maxWords+1))
	for page, want := range map[string]int{
		long: 1, long[5:]: 0, "A. " + long + "! B.": 1, "# " + long[5:] + "\n" + long[5:]: 0,
		"* " + long[5:] + "\n* " + long[5:]: 0, "a\n* b\n" + long: 1, "| " + long + " | b |": 1, "| " + long[5:] + " | " + long[5:] + " |": 0,
		"```\n" + long + "\n```": 0, "<!-- " + long + " -->": 0, "`" + long + "` a": 0, "[a](" + long + ")": 0,
		"It holds.": 1, "`It holds.`": 0, "A household.": 0, "This is no\nsentence": 1, "That of a. For ever.": 2,
	} {
		if got := proseFaults(page); len(got) != want {
			t.Errorf("%q: %q, want %d", page, got, want)
		}
	}
}

// proseFaults returns what is wrong with each sentence of a page in Markdown.
func proseFaults(page string) (faults []string) {
	fence, block, start := "", []string(nil), 0
	flush := func() {
		faults = append(faults, sentenceFaults(start, strings.Join(block, " "))...)
		block = nil
	}
	page = comments.ReplaceAllStringFunc(page, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	for i, line := range strings.Split(page, "\n") {
		text := strings.TrimSpace(line)
		ticks := text[:len(text)-len(strings.TrimLeft(text, "`"))]
		switch {
		case fence != "":
			if len(ticks) >= len(fence) && ticks == text {
				fence = ""
			}
			continue
		case len(ticks) >= 3:
			flush()
			fence = ticks
			continue
		case text == "", len(block) == 0 && strings.HasPrefix(line, "    "):
			flush()
			continue
		case strings.HasPrefix(text, "|"):
			flush()
			text = strings.ReplaceAll(inline.ReplaceAllString(text, "X"), `\|`, "X")
			for _, cell := range strings.Split(strings.Trim(text, "|"), "|") {
				faults = append(faults, sentenceFaults(i+1, cell)...)
			}
			continue
		case marker.MatchString(text):
			flush()
			text = marker.ReplaceAllString(text, "")
		}
		if len(block) == 0 {
			start = i + 1
		}
		if block = append(block, text); strings.HasPrefix(line, "#") {
			flush()
		}
	}
	flush()
	return faults
}

// sentenceFaults returns what is wrong with the sentences of a block that begins in a line.
func sentenceFaults(line int, block string) (faults []string) {
	block = emphasis.Replace(target.ReplaceAllString(inline.ReplaceAllString(block, "X"), "]"))
	for len(block) > 0 {
		end := len(block)
		if at := stop.FindStringIndex(block); at != nil {
			end = at[1]
		}
		sentence := strings.TrimSpace(block[:end])
		block = block[end:]
		words := slices.DeleteFunc(strings.Fields(sentence), func(w string) bool { return !wordThere.MatchString(w) })
		if len(words) > maxWords {
			faults = append(faults, fmt.Sprintf("%d: %d words: %s", line, len(words), sentence))
		}
		for _, phrase := range clumsy.FindAllString(sentence, -1) {
			faults = append(faults, fmt.Sprintf("%d: %q: %s", line, phrase, sentence))
		}
	}
	return faults
}
