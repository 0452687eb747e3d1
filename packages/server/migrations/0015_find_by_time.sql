-- Events and sessions of a period, whatever their tenant, for the job that counts them and for lists of calls. The summary
-- of pages by which events were found (BRIN) grows with them, and one entry that a stopped summarizing leaves unfinished
-- makes every later page match (decision 0147).
drop index session_events_by_time;
create index session_events_by_time on session_events (at);
create index sessions_by_creation on sessions (created_at);

-- The page of agents counts them by agent, from the index alone.
drop index sessions_by_trouble;
create index sessions_by_trouble on sessions (tenant_id, status, created_at desc, session_id desc) include (agent)
  where status <> 'ACTIVE';
