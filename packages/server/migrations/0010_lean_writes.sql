-- How many tokens the last take got: a process that is busy takes some at once.
alter table buckets add column granted integer not null default 1;

-- PostgreSQL reads the text of a table's checks anew for every statement that writes it, a tenth of what a turn costs.
-- These repeated what the one place that writes each column can write.
alter table sessions drop constraint sessions_status_check;
alter table sessions drop constraint sessions_plan_source_check;
alter table sessions drop constraint sessions_unmatched_policy_check;
alter table sessions drop constraint sessions_capture_level_check;
alter table pending_calls drop constraint pending_calls_state_check;
alter table session_events drop constraint session_events_seq_check;
alter table content drop constraint content_kind_check;
