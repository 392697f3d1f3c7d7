package kit

import (
	"strings"
	"unicode"

	extast "github.com/yuin/goldmark/extension/ast"
)

// minColumn is the least width of a column of a table; a table that needs less is shown as
// records.
const minColumn = 8

// table lays out a table: aligned columns, or where they do not fit a record for each row.
func (m *Markdown) table(n *extast.Table, src []byte, width int) (out []layRow) {
	var cells [][][]span
	columns := make([]int, len(n.Alignments))
	for r := n.FirstChild(); r != nil; r = r.NextSibling() {
		var row [][]span
		for c := r.FirstChild(); c != nil && len(row) < len(columns); c = c.NextSibling() {
			now := m.style
			if _, head := r.(*extast.TableHeader); head {
				now = style(now, Bold)
			}
			spans := m.spans(c, src, now)
			for _, l := range m.wrap(spans, width) {
				columns[len(row)] = max(columns[len(row)], l.columns)
			}
			row = append(row, spans)
		}
		for len(row) < len(columns) {
			row = append(row, nil)
		}
		cells = append(cells, row)
	}
	if !shrink(columns, width) {
		return m.records(cells, width)
	}
	for i, row := range cells {
		out = append(out, m.cells(row, columns, n.Alignments)...)
		if i == 0 {
			var line []span
			for k, w := range columns {
				line = append(line, span{style: Dim, text: strings.Repeat("-", w) + strings.Repeat("  ", min(1, len(columns)-1-k))})
			}
			out = append(out, m.line(line...))
		}
	}
	return out
}

// shrink makes the widest columns narrower until all fit. It reports whether they do.
func shrink(columns []int, width int) bool {
	room := width - 2*(len(columns)-1)
	for {
		sum, widest := 0, 0
		for i, w := range columns {
			if sum += w; w > columns[widest] {
				widest = i
			}
		}
		if sum <= room {
			return true
		}
		if columns[widest] <= minColumn {
			return false
		}
		columns[widest]--
	}
}

// cells lays out a row of a table.
func (m *Markdown) cells(row [][]span, columns []int, align []extast.Alignment) (out []layRow) {
	var laid [][]layRow
	most := 1
	for i, c := range row {
		laid = append(laid, m.wrap(c, columns[i]))
		most = max(most, len(laid[i]))
	}
	for k := range most {
		var line layRow
		for i, rows := range laid {
			var r layRow
			if k < len(rows) {
				r = rows[k]
			}
			before := 0
			switch free := columns[i] - r.columns; align[i] {
			case extast.AlignRight:
				before = free
			case extast.AlignCenter:
				before = free / 2
			}
			at := 0
			for _, w := range columns[:i] {
				at += w + 2
			}
			if r.columns > 0 {
				line.text += strings.Repeat(" ", at+before-line.columns) + r.text
				line.columns = at + before + r.columns
				line.ink += r.ink
			}
		}
		out = append(out, line)
	}
	return out
}

// records lays out a table that is wider than the screen: a line for each cell, with the
// head of its column.
func (m *Markdown) records(cells [][][]span, width int) (out []layRow) {
	for i, row := range cells[1:] {
		if i > 0 {
			out = append(out, layRow{})
		}
		for k, c := range row {
			line := append(cutSpans(cells[0][k], 0, 1<<30), span{style: m.style, text: ": "})
			out = append(out, m.wrap(append(line, c...), width)...)
		}
	}
	if len(cells) == 1 {
		for _, c := range cells[0] {
			out = append(out, m.wrap(c, width)...)
		}
	}
	return out
}

// A syntax is a language's syntax for colouring its code.
type syntax struct {
	comment     string // to the end of the line
	open, close string // of a comment of several lines
	quotes      []string
	words       string // that are painted, between blanks
}

// words that are reserved in common languages. That a word is none in one of them does
// little harm.
const words = ` abstract and as async await begin break case catch chan class const constructor continue declare def default defer
 del delete do done elif else elsif end enum esac except export extends extern false fi finally fn for from func function go goto
 if impl implements import in instanceof int interface is lambda let loop map match mod module mut namespace new nil none not null
 of or override package pass private protected pub public raise range readonly ref require rescue return select self static string
 struct super switch then this throw throws trait true try type typedef typeof union unless unsafe until use using val var void
 when where while with yield None True False `

var (
	likeC      = syntax{"//", "/*", "*/", []string{"`", `"`, "'"}, words}
	likeShell  = syntax{"#", "", "", []string{`"`, "'"}, words}
	likePython = syntax{"#", "", "", []string{`"""`, "'''", `"`, "'"}, words}
	likeSQL    = syntax{"--", "/*", "*/", []string{"'", `"`}, ` select from where and or not in is null insert into values update set delete create table index view drop alter add primary key foreign references join left right inner outer on group by order having limit offset union all as distinct case when then else end begin commit rollback default unique `}
	likeData   = syntax{"#", "", "", []string{`"`, "'"}, " true false null yes no "}
	likeXML    = syntax{"", "<!--", "-->", []string{`"`}, ""}
)

// syntaxOf returns a language's colouring, by its name behind a fence.
func syntaxOf(lang string) *syntax {
	switch lang {
	case "go", "golang", "js", "javascript", "jsx", "ts", "typescript", "tsx", "java", "kotlin", "c", "h", "cpp", "c++", "cs", "csharp", "rust", "rs", "swift", "scala", "dart", "php", "css", "scss", "proto", "zig", "jsonc":
		return &likeC
	case "sh", "bash", "zsh", "shell", "console", "fish", "ruby", "rb", "perl", "r", "make", "makefile", "dockerfile", "docker", "nix", "elixir", "tcl":
		return &likeShell
	case "py", "python", "python3":
		return &likePython
	case "sql", "sqlite", "postgresql", "mysql", "lua", "haskell", "hs":
		return &likeSQL
	case "json", "yaml", "yml", "toml", "ini", "hcl", "terraform":
		return &likeData
	case "html", "xml", "svg", "vue":
		return &likeXML
	}
	return nil
}

// highlight colours code: words that are reserved, strings and comments. Lines of a diff are
// coloured by their signs, code of an unknown language as a whole.
func highlight(lang, code string) (lines [][]span) {
	if lang == "diff" || lang == "patch" {
		for l := range strings.SplitSeq(code, "\n") {
			lines = append(lines, []span{{style: DiffStyle(l), text: l}})
		}
		return lines
	}
	line := []span{}
	for _, t := range colour(syntaxOf(lang), code) {
		for i, l := range strings.Split(t.text, "\n") {
			if i > 0 {
				lines, line = append(lines, line), []span{}
			}
			if l != "" {
				line = append(line, span{style: t.style, text: l})
			}
		}
	}
	return append(lines, line)
}

func colour(x *syntax, code string) (out []span) {
	if x == nil {
		return []span{{style: Magenta, text: code}}
	}
	add := func(n int, style string) {
		if k := len(out) - 1; k >= 0 && out[k].style == style {
			out[k].text += code[:n]
		} else {
			out = append(out, span{style: style, text: code[:n]})
		}
		code = code[n:]
	}
	before := ' '
	for code != "" {
		n := len(code) - len(strings.TrimLeftFunc(code, isWord))
		switch quoted := quotation(code, x.quotes); {
		case x.comment != "" && strings.HasPrefix(code, x.comment) && (x.comment != "#" || unicode.IsSpace(before)):
			add(len(code)-len(strings.TrimLeftFunc(code, func(r rune) bool { return r != '\n' })), Dim)
		case x.open != "" && strings.HasPrefix(code, x.open):
			add(until(code, x.open, x.close), Dim)
		case quoted > 0:
			add(quoted, Green)
		case n > 0:
			style := Plain
			if word := code[:n]; strings.Contains(x.words, " "+word+" ") || x == &likeSQL && strings.Contains(x.words, " "+strings.ToLower(word)+" ") {
				style = Magenta
			}
			before = 'a'
			add(n, style)
			continue
		default:
			r := []rune(code[:min(4, len(code))])[0]
			before = r
			add(len(string(r)), Plain)
			continue
		}
		before = 'a'
	}
	return out
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// until is the length of what begins with open and ends with the next close, or with the
// code.
func until(code, open, close string) int {
	if i := strings.Index(code[len(open):], close); i >= 0 {
		return len(open) + i + len(close)
	}
	return len(code)
}

// quotation is the length of the string that code begins with, 0 if it begins with none: one
// of a line has to end in it.
func quotation(code string, quotes []string) int {
	for _, q := range quotes {
		if !strings.HasPrefix(code, q) {
			continue
		}
		if q == "`" || len(q) == 3 {
			return until(code, q, q)
		}
		for i := 1; i < len(code) && code[i] != '\n'; i++ {
			if code[i] == '\\' {
				i++
			} else if code[i] == q[0] {
				return i + 1
			}
		}
	}
	return 0
}

// DiffStyle returns the style of a line of a diff.
func DiffStyle(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return Green
	case strings.HasPrefix(line, "-"):
		return Red
	}
	return Dim
}
