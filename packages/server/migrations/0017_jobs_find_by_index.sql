-- What jobs for all tenants look for is found by an index, however much of it one tenant has. Indexes that are made if they
-- do not exist are built ahead (decision 0151).

-- Each plan that is removed asks who refers to it: its foreign key, drafts, and runs that wait.
create index if not exists approved_plans_by_hash on approved_plans (tenant_id, compiled_hash);
create index if not exists governance_plans_by_hash on governance_plans (tenant_id, compiled_hash);
create index if not exists runs_waiting_by_hash on runs (tenant_id, compiled_hash) where status in ('queued', 'running');

-- Of the plans in force only those that promise rates are watched, in the order of an index. Which ones do is read before the
-- table is locked, each plan once, however many agents it is in force for.
create temporary table promising on commit drop as
  select tenant_id, compiled_hash from (
    select p.tenant_id, p.compiled_hash, p.compiled_session from plans p
    where exists (select 1 from approved_plans a where a.tenant_id = p.tenant_id and a.compiled_hash = p.compiled_hash)
    offset 0
  ) as in_force
  where compiled_session #> '{session,surprise,expected}' is not null;
-- Null: a server of an earlier version approved it meanwhile, and the job that watches it finds out.
alter table approved_plans add column promises_rates boolean;
update approved_plans a set rates_watched_at = coalesce(rates_watched_at, '-infinity'), promises_rates = exists (
  select 1 from promising p where p.tenant_id = a.tenant_id and p.compiled_hash = a.compiled_hash);
alter table approved_plans
  alter column rates_watched_at set default '-infinity',
  alter column rates_watched_at set not null;
create index if not exists approved_plans_to_watch on approved_plans (rates_watched_at) where promises_rates is not false;

-- A run reads conversations of an agent, a page at a time: without this each page reads all captures of the agent.
create index if not exists captures_by_conversation on captures (tenant_id, agent, conversation_id);
