-- How many calls were under a contract in force, of those that sessions decided and of those that were only captured.

-- Decided calls whose tool has no contract in the plan of their session. Their proposals name them since.
alter table decision_counts add column uncovered integer not null default 0;
update decision_counts set uncovered = calls where reason = 'unmatched_tool_blocked';

create or replace view proposals as
select tenant_id, session_id, request_id as prepared_request_id, proposal_id, seq, outcome, at as proposed_at,
  (record::json ->> 'fence')::bigint as fence, record::json ->> 'bodyHash' as body_hash,
  record::json -> 'decisions' as decisions, record::json ->> 'cost' as cost, record::json ->> 'model' as model,
  record::json -> 'request' as request, record::json -> 'uncovered' as uncovered
from session_events where request_id is not null;

-- Captured calls of no governed session by the hour in which they were made, and how many of them the program judged by
-- contracts that it enforced. Captures themselves expire.
create table captured_calls (
  tenant_id text not null,
  hour      timestamptz not null,
  agent     text not null,
  calls     integer not null,
  covered   integer not null,
  primary key (tenant_id, hour, agent)
);
