-- A label sticks from the moment its call is allowed.

-- Which call adds the label, while its outcome is open; empty once a tool that adds it has run.
alter table sticky_labels add column call_id text not null default '';
alter table sticky_labels drop constraint sticky_labels_pkey;
alter table sticky_labels add primary key (tenant_id, owner, label, call_id);
