-- What coordinators have met and tried: it outlives the jobs. key is the attempt.
create table failures (
	n         integer primary key autoincrement,
	key       text not null unique,
	project   text not null,
	signature text not null,
	type      text not null,
	message   text not null,
	text      text not null,
	outcome   text not null,
	action    text not null, -- JSON
	tokens    integer not null,
	cost      real not null,
	at        integer not null
) strict;
create index failures_signature on failures (signature, n);

create virtual table failures_text using fts5(text, content = 'failures', content_rowid = 'n');
create trigger failures_added after insert on failures begin
	insert into failures_text (rowid, text) values (new.n, new.text);
end;
create trigger failures_removed after delete on failures begin
	insert into failures_text (failures_text, rowid, text) values ('delete', old.n, old.text);
end;
