package llm

// Usage counts tokens. Cached is the part of In that the provider served from
// its cache. Adapters never report negative counts.
type Usage struct {
	In     int `json:"in"`
	Out    int `json:"out"`
	Cached int `json:"cached,omitempty"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.In + v.In, u.Out + v.Out, u.Cached + v.Cached}
}
