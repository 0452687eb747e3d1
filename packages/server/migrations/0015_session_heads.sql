-- A turn wrote eleven rows, most of them twice what another one held. What every request replaces lies in one narrow row
-- now, what it adds in the row of its event, and the records of a turn are read from there.
--
-- text and not json: PostgreSQL would read each value through on its way in, and nothing on the way of a request asks it
-- what is inside. What is read beside that way casts it.

-- Where a session stands. Written whole by every change, under the guard of `stamp`.
create table session_heads (
  tenant_id   text not null,
  session_id  text not null,
  -- The hash of what was written last, an event or a prepared request. A write names the one that it was decided on.
  stamp       text not null,
  lease_until timestamptz not null,
  -- JSON: state, prepared request, narrowing, head of the ledger, and what lists show of the session.
  head        text not null,
  primary key (tenant_id, session_id)
) with (fillfactor = 30, toast_tuple_target = 8160);

insert into session_heads (tenant_id, session_id, stamp, lease_until, head)
select tenant_id, session_id, ledger_hash || ':' || revision, lease_until, json_build_object(
    'state', state, 'prepared', prepared, 'lastNarrowing', last_narrowing, 'hasAside', true,
    'ledger', json_build_object('seq', ledger_seq, 'hash', ledger_hash), 'lastEvent', last_event,
    'allowedCalls', allowed_calls, 'blockedCalls', blocked_calls, 'lastReason', last_reason, 'updatedAt', updated_at
  )::text
from sessions;

-- The record that the event of a proposal has beside it: outside of the chain, and without content.
alter table session_events
  alter column body type text using body::text,
  add column request_id  text,
  add column proposal_id text,
  add column outcome     text,
  add column record      text;

-- A proposal has some two kilobytes, from where on PostgreSQL would look what it can compress.
alter table session_events set (toast_tuple_target = 8160);

update session_events e set
  request_id = p.prepared_request_id, proposal_id = p.proposal_id, outcome = p.outcome,
  record = json_build_object(
    'fence', p.fence, 'bodyHash', p.body_hash, 'decisions', p.decisions, 'cost', p.cost::text, 'model', p.model,
    'request', case when r.prepared_request_id is not null then json_build_object(
      'id', r.prepared_request_id,
      'bound', json_build_object(
        'state_version', r.state_version, 'control_revision', r.control_revision, 'fence', r.fence),
      'compiledHash', r.compiled_hash, 'requestHash', r.request_hash, 'withTools', r.with_tools, 'allowed', r.allowed,
      'removed', r.removed, 'inputFailures', r.input_failures, 'provider', r.provider, 'model', r.model,
      'preparedAt', to_char(r.prepared_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'expiresAt', to_char(r.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'digest', r.digest
    ) end
  )::text
from proposals p left join prepared_requests r using (tenant_id, session_id, prepared_request_id)
where e.tenant_id = p.tenant_id and e.session_id = p.session_id and e.seq = p.seq;

-- Prepared requests that wait beside the session's newest: those without tools, and those that a newer one made void.
create table set_aside_requests (
  tenant_id           text not null,
  session_id          text not null,
  prepared_request_id text not null,
  expires_at          timestamptz not null,
  request             text not null,
  primary key (tenant_id, session_id, prepared_request_id)
);

insert into set_aside_requests (tenant_id, session_id, prepared_request_id, expires_at, request)
select r.tenant_id, r.session_id, r.prepared_request_id, r.expires_at, json_build_object(
    'id', r.prepared_request_id,
    'bound', json_build_object('state_version', r.state_version, 'control_revision', r.control_revision, 'fence', r.fence),
    'compiledHash', r.compiled_hash, 'requestHash', r.request_hash, 'withTools', r.with_tools, 'allowed', r.allowed,
    'removed', r.removed, 'inputFailures', r.input_failures, 'provider', r.provider, 'model', r.model,
    'preparedAt', to_char(r.prepared_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'expiresAt', to_char(r.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'digest', r.digest
  )::text
from prepared_requests r join sessions s using (tenant_id, session_id)
where r.consumed_at is null and s.prepared ->> 'id' is distinct from r.prepared_request_id;

alter table receipts add column record text;
update receipts set record = json_build_object(
    'body_hash', body_hash, 'outcome', outcome, 'evidence_level', evidence_level, 'at_level', at_level, 'late', late,
    'arguments_changed', arguments_changed, 'committed', committed, 'argument_hash', argument_hash,
    'result_hash', result_hash, 'started_at', started_at, 'finished_at', finished_at, 'error_code', error_code,
    'approvals', approvals, 'recorded_at', recorded_at
  )::text;
alter table receipts
  alter column record set not null,
  drop column body_hash, drop column outcome, drop column evidence_level, drop column at_level, drop column late,
  drop column arguments_changed, drop column committed, drop column argument_hash, drop column result_hash,
  drop column started_at, drop column finished_at, drop column error_code, drop column approvals,
  drop column recorded_at;

drop table prepared_requests;
drop table proposals;
drop table pending_calls;

alter table sessions
  drop column revision, drop column state_version, drop column control_revision, drop column fence,
  drop column holder_id, drop column lease_until, drop column state, drop column last_narrowing, drop column prepared,
  drop column ledger_seq, drop column ledger_hash, drop column last_event, drop column updated_at,
  drop column allowed_calls, drop column blocked_calls, drop column last_reason,
  reset (fillfactor, toast_tuple_target);

-- One proposal for each prepared request.
create unique index session_events_by_request on session_events (tenant_id, session_id, request_id)
  where request_id is not null;
-- Rows lie in the order of their time, so a few pages of summary find those of a span.
create index session_events_by_time on session_events using brin (at) with (pages_per_range = 16, autosummarize = on);
-- The newest blocked calls of a tenant, whenever their sessions began. Not an index of some events: PostgreSQL would
-- plan its condition anew for every event, blocked or not.
create table blocked_proposals (
  tenant_id  text not null,
  at         timestamptz not null,
  session_id text not null,
  seq        bigint not null,
  primary key (tenant_id, at, session_id, seq)
);
insert into blocked_proposals (tenant_id, at, session_id, seq)
select tenant_id, at, session_id, seq from session_events where outcome in ('blocked', 'partial');
create index set_aside_requests_by_time on set_aside_requests using brin (expires_at);

-- The records of a turn, as they are read.
create view proposals as
select tenant_id, session_id, request_id as prepared_request_id, proposal_id, seq, outcome, at as proposed_at,
  (record::json ->> 'fence')::bigint as fence, record::json ->> 'bodyHash' as body_hash,
  record::json -> 'decisions' as decisions, record::json ->> 'cost' as cost, record::json ->> 'model' as model,
  nullif((record::json -> 'request')::text, 'null')::json as request
from session_events where request_id is not null;

create view pending_calls as
select p.tenant_id, p.session_id, d ->> 'pending_call_id' as pending_call_id, p.proposal_id, d ->> 'call_id' as call_id,
  d ->> 'tool_name' as tool_name, d ->> 'argument_hash' as argument_hash, p.proposed_at,
  case when r.record is not null then 'resolved' else (
    select c ->> 'state' from session_heads h, json_array_elements(h.head::json #> '{state,open,calls}') c
    where h.tenant_id = p.tenant_id and h.session_id = p.session_id
      and c ->> 'pending_call_id' = d ->> 'pending_call_id'
  ) end as state, (r.record::json ->> 'recorded_at')::timestamptz as resolved_at
from proposals p cross join json_array_elements(p.decisions) d
left join receipts r on r.tenant_id = p.tenant_id and r.session_id = p.session_id
  and r.pending_call_id = d ->> 'pending_call_id'
where d ->> 'pending_call_id' is not null;

-- Each in one place: the newest with tools in the session's head, unused ones beside it, used ones at their proposal.
create view prepared_requests as
select tenant_id, session_id, head::json #>> '{prepared,id}' as prepared_request_id, head::json -> 'prepared' as request,
  null::timestamptz as consumed_at
from session_heads where head::json #>> '{prepared,id}' is not null
union all
select tenant_id, session_id, prepared_request_id, request::json, null from set_aside_requests
union all
select tenant_id, session_id, prepared_request_id, request, proposed_at from proposals;
