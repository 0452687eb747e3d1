-- When the holder of a session ended it. Null while it may go on: before that, and once somebody has recovered it.
alter table sessions add column ended_at timestamptz;

-- Sessions that may go on, which are few where programs end theirs.
create index sessions_open on sessions (tenant_id, created_at desc, session_id desc)
  where ended_at is null and status in ('ACTIVE', 'RECOVERING');
