-- The calls of a tenant in a minute, without a look at those of others. By a number that stands for the tenant, as it is
-- shorter, and as PostgreSQL would otherwise think of the primary key, by which it reads all events of the tenant.
create index if not exists session_events_of_tenant_by_time
  on session_events (at, hashtext(tenant_id)) where request_id is not null;
