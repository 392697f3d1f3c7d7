package memory

import "context"

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

// From is the book of ctx, nil if it has none.
func From(ctx context.Context) Book {
	b, _ := ctx.Value(bookKey{}).(Book)
	return b
}
