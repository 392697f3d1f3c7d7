// Package memory keeps facts that jobs leave for later jobs.
//
//	var store memory.Store = memory.New() // or the database of pkg/jobs/sqlite
//	kept, err := store.AddFacts(ctx, memory.Addition{Fact: memory.Fact{
//		ID: memory.ID(key), Scope: memory.Project, Project: dir, Kind: memory.Command,
//		Text: "run the tests with make fast", Created: time.Now()}})
//	found, err := store.Facts(ctx, memory.Query{Project: dir, Text: "how are the tests run?"})
//
// A fact is data: a model wrote it, perhaps after it had read what others wrote,
// and its evidence may have changed. Whoever shows one to a model quotes it with
// [Fact.Line]. The package reads no files: internal/host/book compares the evidence.
package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/adroit-run/adroit/internal/text/jsontext"
)

// A Scope limits where a fact applies.
type Scope string

const (
	Project Scope = "project" // in one project
	User    Scope = "user"    // wherever its user works
)

// A Kind classifies a fact.
type Kind string

const (
	Note       Kind = "fact"       // what is none of the others
	Command    Kind = "command"    // how something is built, tested or run
	Convention Kind = "convention" // how it is done here
	Decision   Kind = "decision"   // what was decided, and why
	Pitfall    Kind = "pitfall"    // what went wrong
	Preference Kind = "preference" // what the user likes
	Summary    Kind = "summary"    // how a job went, written by code
)

// Kinds are the kinds that a model or a person may choose.
var Kinds = []Kind{Note, Command, Convention, Decision, Pitfall, Preference}

// A Confidence is the certainty of a fact's author.
type Confidence string

const (
	Low    Confidence = "low"
	Medium Confidence = "medium" // the default
	High   Confidence = "high"
)

// Confidences are the valid values of a Confidence.
var Confidences = []Confidence{Low, Medium, High}

// Bounds of a fact, in bytes.
const (
	MaxText = 1000
	maxFile = 400
)

// A Fact is one thing to know in later jobs.
type Fact struct {
	ID         string     `json:"id"`
	Scope      Scope      `json:"scope"`
	Project    string     `json:"project,omitempty"` // the directory of the project, absolute
	Kind       Kind       `json:"kind"`
	Text       string     `json:"text"` // one line
	Confidence Confidence `json:"confidence"`
	// Untrusted means that its author had read text by others.
	Untrusted bool `json:"untrusted,omitempty"`
	Evidence
	Created time.Time `json:"created"`
	// Stale explains why the evidence no longer applies. Stores do not keep it.
	Stale string `json:"stale,omitempty"`
}

// Evidence is the source of a fact.
type Evidence struct {
	Job    string `json:"job,omitempty"`
	Step   string `json:"step,omitempty"`   // its path
	File   string `json:"file,omitempty"`   // relative to the project, with slashes
	Digest string `json:"digest,omitempty"` // the SHA-256 of File then, in hexadecimal
}

// An Addition is a fact to keep.
type Addition struct {
	Fact
	Replaces string `json:"replaces,omitempty"` // the id of a fact that it corrects
	// Dir is the directory that File is relative to, for the runtime; stores do not read it.
	Dir string `json:"dir,omitempty"`
}

// Off is the scope of a task that neither recalls nor remembers.
const Off = "off"

// JobTaint names the artifact that has the taint of the conversation at a call. It is
// given to tools that have it in Metadata.Uses, and no tool, input or agent can set it.
const JobTaint = "job_taint"

// A Query selects facts. The zero value is all of them.
type Query struct {
	ID string `json:"id,omitempty"`
	// Project selects the facts of this project and those of scope User, unless
	// Scope excludes either.
	Project string `json:"project,omitempty"`
	Scope   Scope  `json:"scope,omitempty"`
	Kind    Kind   `json:"kind,omitempty"`
	Job     string `json:"job,omitempty"`
	Text    string `json:"text,omitempty"`  // facts with any of its words, the best first; empty: the newest first
	Limit   int    `json:"limit,omitempty"` // 0 is no bound

	// What follows is for the runtime; stores do not read it. Dir is in the project
	// that is meant, All is every project, and Verify compares the evidence with the
	// files as they are now.
	Dir    string `json:"dir,omitempty"`
	All    bool   `json:"all,omitempty"`
	Verify bool   `json:"verify,omitempty"`
}

// A Store keeps facts. It is safe for concurrent use. The suite in memorytest
// holds for each implementation.
type Store interface {
	// AddFacts keeps all of the facts or none, and returns them as they are kept.
	// One whose ID is there is not added again, which makes adding idempotent; a
	// Summary replaces the one that is there. A fact with the scope and the text of
	// another renews that one. A fact of the same scope may replace another, but no
	// untrusted one a trusted one: that is an error, as is ErrNotExist.
	AddFacts(ctx context.Context, add ...Addition) ([]Fact, error)
	Facts(ctx context.Context, q Query) ([]Fact, error)
	// RemoveFacts removes the facts that q selects, and returns their number.
	RemoveFacts(ctx context.Context, q Query) (int, error)
}

// ErrNotExist is the error about a fact that is not there.
var ErrNotExist = errors.New("there is no such fact")

// ID returns the ID of the fact that is kept under a key: the key of the call that remembers it.
func ID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:10])
}

// Clean normalises a fact for storage, or returns an error that describes what is wrong with it.
func (f *Fact) Clean() error {
	f.Text, f.File, f.Stale = OneLine(f.Text), OneLine(f.File), ""
	f.Kind = cmp.Or(f.Kind, Note)
	f.Confidence = cmp.Or(f.Confidence, Medium)
	if f.Scope == User { // it is of no project, so no file can be compared
		f.Project, f.File, f.Digest = "", "", ""
	}
	switch {
	case f.ID == "":
		return errors.New("the fact has no id")
	case f.Text == "":
		return errors.New("the text of the fact is empty")
	case len(f.Text) > MaxText:
		return fmt.Errorf("the text of the fact has %d bytes; it may have %d", len(f.Text), MaxText)
	case f.Scope != User && f.Scope != Project:
		return fmt.Errorf("scope is %q; it is one of %s, %s", f.Scope, Project, User)
	case f.Scope == Project && f.Project == "":
		return errors.New("a fact of scope project needs a project")
	case f.Kind != Summary && !slices.Contains(Kinds, f.Kind):
		return fmt.Errorf("kind is %q; it is one of %s", f.Kind, Join(Kinds))
	case !slices.Contains(Confidences, f.Confidence):
		return fmt.Errorf("confidence is %q; it is one of %s", f.Confidence, Join(Confidences))
	case f.Created.IsZero():
		return errors.New("the fact has no time")
	case f.File != "" && (len(f.File) > maxFile || path.IsAbs(f.File) || path.Clean(f.File) != f.File || f.File == ".." || strings.HasPrefix(f.File, "../")):
		return fmt.Errorf("the file %q of the fact is not a path within the project", f.File)
	case len(f.Digest) != 0 && (len(f.Digest) != 64 || strings.Trim(f.Digest, "0123456789abcdef") != "" || f.File == ""):
		return errors.New("the digest of the fact is not the SHA-256 of a file")
	}
	f.Created = f.Created.UTC()
	return nil
}

// Join lists words.
func Join[T ~string](all []T) string {
	words := make([]string, len(all))
	for i, w := range all {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// OneLine removes from a text what could change how it is shown: line ends, control characters and
// invisible characters.
func OneLine(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.Join(strings.Fields(clean), " ")
}

// maxWords bounds a query.
const maxWords = 32

// stopWords are in too many texts to select one.
var stopWords = strings.Fields("a all an and any are as at be but by can do does for from has have how if in into is it its not of on or our please should so than that the their then there these they this to was we what when where which who why will with you your")

// Words returns the words of a text that select facts, without operators and quotes.
func Words(text string) []string {
	var out []string
	for _, w := range split(text) {
		if len(out) < maxWords && !slices.Contains(stopWords, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

func split(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Decay returns the factor by which age reduces the score of a match: one half after ninety days.
func Decay(age time.Duration) float64 {
	const half = 90 * 24 * time.Hour
	return 1 / (1 + max(0, age.Seconds())/half.Seconds())
}

// A Book is the memory as the tools of one job see it: it adds where a fact comes
// from, and compares the evidence. It is safe for concurrent use.
type Book interface {
	// Remember keeps a fact, of which Text, Scope, Kind, Confidence, File and
	// Untrusted are read.
	Remember(ctx context.Context, a Addition) (Fact, error)
	// Recall returns the facts that fit a text best, at most as many as limit.
	Recall(ctx context.Context, text string, limit int) ([]Fact, error)
}

type bookKey struct{}

// With gives the tools that are called with ctx a book.
func With(ctx context.Context, b Book) context.Context { return context.WithValue(ctx, bookKey{}, b) }

// From returns the book of ctx, or nil.
func From(ctx context.Context) Book {
	b, _ := ctx.Value(bookKey{}).(Book)
	return b
}

// Line quotes a fact for a model: its age, its confidence, and its text as a JSON string, which
// its content cannot end. The text is cut after limit characters; 0 means no limit.
func (f Fact) Line(now time.Time, limit int) string {
	about := []string{string(f.Kind), Age(now.Sub(f.Created)), string(f.Confidence) + " confidence"}
	if f.Scope == User {
		about = append(about, "of the user")
	}
	if f.File != "" {
		about = append(about, "from "+f.File)
	}
	if f.Untrusted {
		about = append(about, "untrusted")
	}
	if f.Stale != "" {
		about = append(about, "STALE: "+f.Stale)
	}
	return fmt.Sprintf("- [%s] %s: %s", f.ID, strings.Join(about, ", "), jsontext.Quote(cut(f.Text, limit)))
}

func cut(text string, limit int) string {
	if r := []rune(text); limit > 0 && len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return text
}

// Age renders a duration in words, as in "2 days ago".
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{365 * day, "year"}, {30 * day, "month"}, {day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := int(d / u.of); n == 1 {
			return "1 " + u.name + " ago"
		} else if n > 1 {
			return fmt.Sprintf("%d %ss ago", n, u.name)
		}
	}
	return "just now"
}
