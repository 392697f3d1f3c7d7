-- The jobs that somebody has: the queue looks at them again and again, and at no
-- other of the many.
create index jobs_held on jobs (n) where owner <> '';
