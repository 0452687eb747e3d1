-- Which tenants have captures to learn from is found by one batch of each, however many agents wait for receipts.
create index if not exists unlearned_captures_by_tenant on unlearned_captures (tenant_id, due_at);
