package tools

// Nearest returns the one of names that a writer of name most likely meant, or
// "" if none is close. It is for advice in errors about any kind of name.
func Nearest(name string, names []string) string { return nearest(name, names) }

// DidYouMean returns ` (did you mean "x"?)` for the nearest of names, or "" if
// none is close: to be put behind the wrong name in an error.
func DidYouMean(name string, names []string) string { return didYouMean(name, names) }
