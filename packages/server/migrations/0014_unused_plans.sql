-- A plan with which a session was created, or that was in force, is part of a proof and is kept. Of the others it is
-- known when they were last asked for, so that those to which nothing refers any more can go.
alter table plans add column kept boolean not null default false;
alter table plans add column used_at timestamptz not null default clock_timestamp();
update plans p set kept = true
where exists (select 1 from sessions s where s.tenant_id = p.tenant_id and s.compiled_hash = p.compiled_hash)
  or exists (select 1 from approved_plans a where a.tenant_id = p.tenant_id and a.compiled_hash = p.compiled_hash);
create index plans_unused on plans (used_at) where not kept;
