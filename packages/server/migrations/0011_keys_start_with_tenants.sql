-- Every key starts with the tenant, so that the tables can be divided by it (decision 0128). The round over all heads reads
-- them in this order, whatever their ledger.
alter table signed_heads drop constraint signed_heads_pkey;
alter table signed_heads add primary key (tenant_id, id, ledger);
