package site

// Styles of static sites: their generators.
const (
	Hugo     = "hugo"
	Jekyll   = "jekyll"
	Astro    = "astro"
	Eleventy = "eleventy"
)

// Styles are all of them.
var Styles = []string{Hugo, Jekyll, Astro, Eleventy}
