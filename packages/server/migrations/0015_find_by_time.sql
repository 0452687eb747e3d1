-- Sessions are stored in the order of their time, as events are: a summary of their pages finds those of a period, which
-- the job that counts them asks for whatever their tenant.
create index sessions_by_creation on sessions using brin (created_at) with (pages_per_range = 32, autosummarize = on);

-- A look at the summary of all events costs as much as it has entries, and every page of the dashboard takes some. Eight
-- times fewer are enough.
alter index session_events_by_time set (pages_per_range = 128);
reindex index session_events_by_time;
