-- A key is unique in a directory and belongs to one request. Jobs in worktrees do not say
-- which directory was named: theirs go on to be unique everywhere.
alter table jobs add column scope text not null default '';
alter table jobs add column request text not null default '';
update jobs set scope = dir where key <> '' and dir not like '%/worktrees/%';
drop index jobs_key;
create unique index jobs_key on jobs (key, scope) where key <> '';
