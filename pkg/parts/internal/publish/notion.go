package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
)

// Notion is a data source, that is a table, of which posts become pages. The tool
// keeps a publication's key in a text property, and adds it where it is missing.
type Notion struct {
	KeyEnv      string            `yaml:"key_env"`      // variable with the connection's token
	DataSource  string            `yaml:"data_source"`  // id
	Database    string            `yaml:"database"`     // where that is empty: a database with one data source
	KeyProperty string            `yaml:"key_property"` // default "Adroit key"
	Properties  map[string]string `yaml:"properties"`   // what every new page is given, such as Status: Draft
	URL         string            `yaml:"url"`          // of the service; default https://api.notion.com
}

const defaultKeyProperty = "Adroit key"

func (n Notion) configured() bool { return n.KeyEnv != "" || n.DataSource != "" || n.Database != "" }

func (n Notion) check() (key string, err error) {
	switch {
	case !n.configured():
		return "", nil
	case n.KeyEnv == "":
		return "key_env", errors.New("is missing; it names the variable with the connection's token")
	case n.DataSource == "" && n.Database == "":
		return "data_source", errors.New("is missing; it is the id of the table")
	}
	return "", nil
}

// notionInput is the input of publish_notion.
type notionInput struct {
	From string   `json:"from,omitempty" jsonschema:"description=Markdown file; default: the content"`
	Tags []string `json:"tags,omitempty" jsonschema:"description=For the property Tags"`
}

func (c Config) notion() tools.Tool {
	m := tools.Metadata{
		Name: "publish_notion", Category: "publish", Needs: tools.Read | tools.Net | tools.Publish, Effect: tools.Idempotent,
		Optionality: tools.Conditional, When: "the user wants the post in Notion",
		Uses: []string{"content"}, Produces: []string{"published"}, Timeout: 10 * time.Minute,
		Examples: []tools.Example{{Note: "with tags", Args: json.RawMessage(`{"tags":["durability"]}`)}},
	}.ProseIn(descriptions)
	if !c.Notion.configured() {
		m.Requires = []string{"config:publish.notion"}
	}
	t := tools.New(m, c.page)
	t.Touches, t.Before = touches, before
	return t
}

// page publishes one page: it is looked for by its key, made if it is not
// there, and gets the blocks that it lacks.
func (c Config) page(ctx context.Context, env *tools.Env, in notionInput) (tools.Result, error) {
	token := c.Getenv(c.Notion.KeyEnv)
	if token == "" {
		return tools.Result{}, fmt.Errorf("%s, the token for Notion, is not set. Tell the user", c.Notion.KeyEnv)
	}
	p, err := from(env, in.From, "")
	if err != nil {
		return tools.Result{}, err
	}
	k, err := key(env, "notion", p, in.Tags)
	if err != nil {
		return tools.Result{}, err
	}
	parts, err := batches(blocks(p.Text))
	if err != nil {
		return tools.Result{}, err
	}
	api := &notionAPI{Notion: c.Notion, token: token, client: &client{http: env.HTTP, wait: c.Wait, hide: []string{token}}}
	source, err := api.source(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	if err := api.withKey(ctx, source); err != nil {
		return tools.Result{}, err
	}
	props, err := source.properties(c.Notion, p.Title, k, in.Tags)
	if err != nil {
		return tools.Result{}, err
	}
	done := published{Target: "Notion", Title: p.Title, Key: k}
	page, err := api.find(ctx, source, k)
	if err != nil {
		return tools.Result{}, err
	}
	if page == nil {
		page, err = api.create(ctx, source, props, parts[0])
		if u := new(unsure); errors.As(err, &u) {
			c.confirmed(ctx, func() (bool, error) {
				page, err = api.find(ctx, source, k)
				return page != nil, err
			})
			if page == nil {
				return unknown(env, "publish_notion", "Notion", k, u), nil
			}
		} else if err != nil {
			return tools.Result{}, fmt.Errorf("notion did not take the page: %w", err)
		}
	} else {
		done.Before = true
	}
	added, err := c.fill(ctx, api, page.ID, parts)
	if u := new(unsure); errors.As(err, &u) {
		return unknown(env, "publish_notion", "Notion, beyond the first blocks of "+page.URL, k, u), nil
	} else if err != nil {
		return tools.Result{}, fmt.Errorf("the page %s was made but is not whole: %w. Calling this again goes on with it", page.URL, err)
	}
	done.At = page.URL
	if done.Before && added == 0 {
		return done.result(fmt.Sprintf("Notion has this post already: %s. Nothing was changed.", page.URL))
	}
	return done.result(fmt.Sprintf("Published %q to Notion: %s", p.Title, page.URL))
}

// fill appends the parts that a page lacks and reports how many. What is there is
// counted before each, so that none is appended twice.
func (c Config) fill(ctx context.Context, api *notionAPI, page string, parts [][]block) (int, error) {
	have, err := api.count(ctx, page)
	if err != nil {
		return 0, err
	}
	added, upto := 0, 0
	for i, part := range parts {
		before := upto
		upto += len(part)
		if have >= upto {
			continue
		}
		if have != before {
			return added, fmt.Errorf("it has %d blocks, and part %d of the post begins at %d: someone has changed it", have, i+1, before)
		}
		err := api.append(ctx, page, part)
		if u := new(unsure); errors.As(err, &u) {
			there := c.confirmed(ctx, func() (bool, error) {
				n, err := api.count(ctx, page)
				return n >= upto, err
			})
			if !there {
				return added, err
			}
		} else if err != nil {
			return added, err
		}
		have = upto
		added++
	}
	return added, nil
}
