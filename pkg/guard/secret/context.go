package secret

import "context"

type key struct{}

// With returns a context for work that must know r, such as a commit that
// looks for secrets in what it is about to publish.
func With(ctx context.Context, r *Redactor) context.Context { return context.WithValue(ctx, key{}, r) }

// From returns the Redactor of ctx, one for the well-known shapes if it has
// none.
func From(ctx context.Context) *Redactor {
	if r, ok := ctx.Value(key{}).(*Redactor); ok && r != nil {
		return r
	}
	return NewRedactor(Options{})
}
