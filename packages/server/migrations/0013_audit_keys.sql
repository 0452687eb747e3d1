-- Which key acted, as it was called then. The key itself is nowhere.
alter table audit_entries add column key_id text, add column key_name text, add column key_prefix text;
