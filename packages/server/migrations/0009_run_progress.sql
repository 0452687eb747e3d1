-- How far a backtest is, for whoever waits for it.
alter table runs add column sessions_done integer not null default 0;
