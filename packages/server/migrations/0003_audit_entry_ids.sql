-- The number of an audit entry counts the entries of all tenants. What a tenant sees of it, as an id and as the place
-- where a page ended, is this one, which says nothing about the others.
alter table audit_entries add column entry_id uuid not null default gen_random_uuid();
create unique index audit_entries_by_entry on audit_entries (tenant_id, entry_id);
