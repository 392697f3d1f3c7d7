package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/pkg/flow"
)

// replan does what reopening plans for a job.
func (t *tx) replan(id string, reopening func(flow.History) (flow.Reopening, error)) error {
	h, err := t.history(id)
	if err != nil {
		return err
	}
	plan, err := reopening(h)
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	forget, err := json.Marshal(plan.Forget)
	if err != nil {
		return err
	}
	again, err := json.Marshal(append([]string{}, plan.Again...))
	if err != nil {
		return err
	}
	if _, err := t.exec(`insert into attempts (job, path, n, kind, name, begun, output, failure, unknown)
		select s.job, s.path, 1 + (select count(*) from attempts a where a.job = s.job and a.path = s.path), s.kind, s.name, s.begun, s.output, s.failure,
			s.path in (select value from json_each(?3))
		from steps s where s.job = ?1 and s.done and (s.path in (select value from json_each(?2)) or s.path in (select value from json_each(?3)))`,
		id, string(forget), string(again)); err != nil {
		return err
	}
	for _, path := range plan.Again {
		if _, err := t.exec("update steps set done = 0, output = null, big = '', failure = null where job = ? and path = ?", id, path); err != nil {
			return err
		}
	}
	for _, q := range []string{
		// Outputs that lie in blobs go with their steps, as in journal.Save.
		`delete from refs where job = ?1 and not keep
			and digest in (select big from steps where job = ?1 and path in (select value from json_each(?2)) and big <> '')
			and not exists (select 1 from steps o where o.job = ?1 and o.big = refs.digest and o.path not in (select value from json_each(?2)))`,
		`delete from blobs where digest in (select big from steps where job = ?1 and path in (select value from json_each(?2)) and big <> '')
			and not exists (select 1 from refs where refs.digest = blobs.digest)`,
		`delete from steps where job = ?1 and path in (select value from json_each(?2))`,
	} {
		if _, err := t.exec(q, id, string(forget)); err != nil {
			return err
		}
	}
	for scope, st := range plan.States {
		if _, err := t.exec("insert into checkpoints (job, scope, next, value) values (?, ?, ?, ?) on conflict (job, scope) do update set value = excluded.value", id, scope, st.Next, []byte(st.Value)); err != nil {
			return err
		}
	}
	return nil
}

// history reads what is left of a job's run, without the outputs of steps.
func (t *tx) history(id string) (flow.History, error) {
	h := flow.History{States: map[string]flow.State{}, Unknown: map[string]bool{}}
	if err := t.each("select distinct path from attempts where job = ? and unknown", []any{id}, func(scan func(...any) error) error {
		var path string
		err := scan(&path)
		h.Unknown[path] = true
		return err
	}); err != nil {
		return h, err
	}
	err := t.each("select path, kind, name, sum, done, failure from steps where job = ?", []any{id}, func(scan func(...any) error) error {
		rec := flow.Record{Job: id}
		var failure []byte
		if err := scan(&rec.Path, &rec.Kind, &rec.Name, &rec.Sum, &rec.Done, &failure); err != nil {
			return err
		}
		if failure != nil {
			rec.Failure = new(flow.Failure)
			if err := stored.Decode(failure, rec.Failure); err != nil {
				return fmt.Errorf("%w: failure of step %s: %w", ErrDamaged, rec.Path, err)
			}
		}
		h.Steps = append(h.Steps, rec)
		return nil
	})
	if err != nil {
		return h, err
	}
	err = t.each("select scope, next, value from checkpoints where job = ?", []any{id}, func(scan func(...any) error) error {
		var scope string
		var st flow.State
		if err := scan(&scope, &st.Next, (*[]byte)(&st.Value)); err != nil {
			return err
		}
		h.States[scope] = st
		return nil
	})
	h.Output = func(path string) (json.RawMessage, error) {
		rec, err := t.record(id, path)
		if err != nil || rec == nil {
			return nil, err
		}
		return rec.Output, nil
	}
	return h, err
}
