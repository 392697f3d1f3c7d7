package parts_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

func TestAll(t *testing.T) {
	set, err := tools.NewSet(parts.All()...)
	if err != nil {
		t.Fatal(err)
	}
	for tool := range set.All() {
		if err := tool.Check(); err != nil { // the set relies on it
			t.Error(err)
		}
	}
	want := strings.Fields("accept_files analyze_prompt apply_patch assemble_content calendar check_docs check_episode check_post cite cut_clip definition delete_file describe_tool diagnostics edit_blocks edit_file edit_long_file expand_section feed_entry finish format_code generate_outline generate_social_posts git_blame git_branch git_commit git_continue git_diff git_log git_show git_status github_issue_comment github_issue_list github_issue_view github_pr_checks github_pr_create github_pr_diff github_pr_review github_pr_view link_check list_files master_audio move_file outline probe_audio process_transcript publish_markdown publish_notion publish_webhook read_file read_result read_site read_skill read_transcript recall references remember replay_fix report_findings report_triage rerun review_content rss_feed run_check run_outside run_tests save_episode save_post search search_text set_chapters set_show_notes shell shell_kill shell_output spawn_agent static_links todo transcribe_audio web_fetch web_search write_content write_file write_show_notes")
	if got := slices.Collect(names(set)); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// A set checks no tool that ships, by where its arguments are declared: each start would
// infer all schemas.
func TestShips(t *testing.T) {
	for _, tool := range parts.All() {
		if !bytes.Contains(tool.Input.JSON(), []byte(`"properties":{"`)) {
			continue // a struct without a name, and no work
		}
		tool.Description = "" // which a check refuses
		if _, err := tools.NewSet(tool); err != nil {
			t.Errorf("%s is checked at each start: pkg/tools does not know that it ships", tool.Name)
		}
	}
}

// A misspelt category would make a heading of its own.
func TestCategories(t *testing.T) {
	set, err := tools.NewSet(parts.All()...)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Categories(), strings.Fields("build code content publish research utility vcs"); !slices.Equal(got, want) {
		t.Errorf("the categories are %v, want %v", got, want)
	}
}

func names(set *tools.Set) func(func(string) bool) {
	return func(yield func(string) bool) {
		for t := range set.All() {
			if !yield(t.Name) {
				return
			}
		}
	}
}

// Small models pay for every word, so the words are counted.
func TestBudget(t *testing.T) {
	total := 0
	for _, tool := range parts.All() {
		if n := len(strings.Fields(tool.Description)); n > 40 {
			t.Errorf("%s: its description has %d words, 40 are allowed", tool.Name, n)
		}
		if tool.UsageHint == "" {
			t.Errorf("%s: no usage hint", tool.Name)
		}
		total += len(tool.Name) + len(tool.Description) + len(tool.Input.JSON()) + 30
	}
	// Four bytes make about one token in English and JSON.
	if tokens := total / 4; tokens > 9600 {
		t.Errorf("all tools together take about %d tokens, 9600 are allowed", tokens)
	} else {
		t.Logf("about %d tokens", tokens)
	}
}

func ExampleAll() {
	set, err := tools.NewSet(parts.All()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	read, _ := set.Lookup("read_file")
	fmt.Println(read.Needs, read.Safe())
	// Output: read pure
}
