-- Ids by their beginning, for the dashboard's search. The former index compared in another collation than the primary
-- key does, so that a lookup of one session could read it by tenant alone.

drop index sessions_by_name;
create index sessions_by_name on sessions (tenant_id, session_id text_pattern_ops);
