-- How far a backtest is, for whoever waits for it.
alter table runs add column sessions_done integer not null default 0;

-- Captures that the service made of its own sessions: what became of their calls is known by receipts, somewhat later.
alter table captures add column governed boolean not null default false;
