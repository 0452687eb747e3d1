-- What is looked for is found by an index, however much of it one tenant has kept. Indexes that are made if they do not exist
-- are built ahead (decision 0151).

-- Removed by their age.
create index if not exists audit_entries_by_age on audit_entries (at);
create index if not exists erased_sessions_by_age on erased_sessions (erased_at);
create index if not exists runs_by_age on runs (created_at) where status in ('done', 'failed');

-- The first run that waits, tenant by tenant, and how many are under way.
create index if not exists runs_waiting_by_tenant on runs (tenant_id, created_at) where status in ('queued', 'running');
create index if not exists runs_under_way on runs (tenant_id) where status = 'running';
drop index runs_waiting;

-- An agent has one plan in force, and as many drafts and former plans as it likes.
create index if not exists governance_plans_by_agent
  on governance_plans (tenant_id, agent, environment, state, created_at desc, plan_id desc);
create index if not exists governance_plans_by_decision
  on governance_plans (tenant_id, agent, environment, decided_at desc) where state in ('approved', 'superseded');

-- A tenant has few keys in force, and as many revoked ones as it likes.
create index if not exists api_keys_in_force on api_keys (tenant_id, created_at desc) where revoked_at is null;
create index if not exists api_keys_revoked on api_keys (tenant_id, created_at desc) where revoked_at is not null;
