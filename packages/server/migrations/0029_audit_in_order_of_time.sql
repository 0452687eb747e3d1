-- Entries of the audit trail are in the order of their times. A number that counts those of all tenants needs one counter
-- for all of them.
create index if not exists audit_entries_in_order on audit_entries (tenant_id, at, entry_id);
create index if not exists audit_entries_of_subject on audit_entries (tenant_id, subject, at, entry_id) where subject is not null;
alter table audit_entries drop column audit_id;
alter table audit_entries add primary key using index audit_entries_by_entry;
