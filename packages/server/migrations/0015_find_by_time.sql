-- replaces 71fda5325be6dc560a014a63a77943f0ec8e0d6a3d2b2615bbe9de3dee103279
-- Events and sessions of a period, whatever their tenant, for the job that counts them and for lists of calls. The summary
-- of pages by which events were found (BRIN) grows with them, and one entry that a stopped summarizing leaves unfinished
-- makes every later page match (decision 0147). Indexes that are made if they do not exist are built ahead (decision 0151).
create index if not exists session_events_by_time_new on session_events (at);
drop index session_events_by_time;
alter index session_events_by_time_new rename to session_events_by_time;
create index if not exists sessions_by_creation on sessions (created_at);

-- The page of agents counts them by agent, from the index alone.
create index if not exists sessions_by_trouble_new
  on sessions (tenant_id, status, created_at desc, session_id desc) include (agent) where status <> 'ACTIVE';
drop index sessions_by_trouble;
alter index sessions_by_trouble_new rename to sessions_by_trouble;
