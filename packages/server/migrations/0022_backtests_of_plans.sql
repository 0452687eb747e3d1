-- The newest finished backtest of a plan, which its page shows and its approval cites, however many runs a tenant has.
create index if not exists runs_by_plan on runs (tenant_id, compiled_hash, created_at desc, run_id desc);
