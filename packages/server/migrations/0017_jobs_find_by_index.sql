-- What jobs for all tenants look for is found by an index, however much of it one tenant has. Indexes that are made if they
-- do not exist are built ahead (decision 0151).

-- Each plan that is removed asks who refers to it: its foreign key, drafts, and runs that wait.
create index if not exists approved_plans_by_hash on approved_plans (tenant_id, compiled_hash);
create index if not exists governance_plans_by_hash on governance_plans (tenant_id, compiled_hash);
create index if not exists runs_waiting_by_hash on runs (tenant_id, compiled_hash) where status in ('queued', 'running');
