-- Offers that nobody took in time are found tenant by tenant: of each as many as are written at once, however many it has.
create index if not exists handoffs_waiting_by_tenant on handoffs (tenant_id, expires_at) where state = 'offered';
drop index handoffs_waiting;
