-- What jobs leave for later jobs. A fact of scope user has no project.
create table facts (
	n          integer primary key,
	id         text not null unique,
	scope      text not null,
	project    text not null,
	kind       text not null,
	text       text not null,
	confidence text not null,
	untrusted  integer not null,
	job        text not null,
	step       text not null,
	file       text not null,
	digest     text not null,
	created    integer not null
) strict;
create index facts_project on facts (scope, project, n);
create index facts_text on facts (text);
create index facts_job on facts (job) where job <> '';

create virtual table facts_words using fts5(text, file, content = 'facts', content_rowid = 'n', tokenize = 'porter unicode61');
-- A forgotten fact leaves no words in the index.
insert into facts_words (facts_words, rank) values ('secure-delete', 1);
create trigger facts_added after insert on facts begin
	insert into facts_words (rowid, text, file) values (new.n, new.text, new.file);
end;
create trigger facts_removed after delete on facts begin
	insert into facts_words (facts_words, rowid, text, file) values ('delete', old.n, old.text, old.file);
end;
