-- The newest blocked calls of a tenant, whenever their sessions began. Proposals that were allowed are not in it.

create index proposals_blocked on proposals (tenant_id, proposed_at desc) where outcome in ('blocked', 'partial');
