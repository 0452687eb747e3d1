-- What a request does not change it does not write: a preflight leaves the state alone, a receipt the calls before it.
-- So each part of a head that some requests leave as it is has a column, and those that change least come last, where
-- PostgreSQL's log leaves out what stayed the same.

drop view prepared_requests;
drop view pending_calls;

alter table session_heads rename to whole_heads;
alter table whole_heads rename constraint session_heads_pkey to whole_heads_pkey;

-- Where a session stands. Every change writes what it changes, under the guard of `stamp`.
create table session_heads (
  tenant_id   text not null,
  session_id  text not null,
  -- The hash of what was written last, an event or a prepared request. A write names the one that it was decided on.
  stamp       text not null,
  lease_until timestamptz not null,
  -- JSON, as all that follows: head of the ledger, and what lists show of the session. Not called `head` any more, so that
  -- a server of an earlier version, if one still runs, cannot write it.
  facts       text not null,
  -- The newest prepared request with tools while it is unused.
  prepared    text,
  -- What the session's events come to, but for its recent calls.
  state       text not null,
  narrowing   text,
  -- The recent calls of the state.
  recent      text not null,
  primary key (tenant_id, session_id)
) with (fillfactor = 30, toast_tuple_target = 8160);

insert into session_heads (tenant_id, session_id, stamp, lease_until, facts, prepared, state, narrowing, recent)
select tenant_id, session_id, stamp, lease_until, json_build_object(
    'hasAside', was."hasAside", 'ledger', was.ledger, 'lastEvent', was."lastEvent", 'allowedCalls', was."allowedCalls",
    'blockedCalls', was."blockedCalls", 'lastReason', was."lastReason", 'updatedAt', was."updatedAt"
  )::text,
  was.prepared::text, was.state::text, was."lastNarrowing"::text, (was.state -> 'recent')::text
from whole_heads, json_to_record(head::json) as was (
  state json, prepared json, "lastNarrowing" json, "hasAside" json, ledger json, "lastEvent" json, "allowedCalls" json,
  "blockedCalls" json, "lastReason" json, "updatedAt" json);

drop table whole_heads;

create view pending_calls as
select p.tenant_id, p.session_id, d ->> 'pending_call_id' as pending_call_id, p.proposal_id, d ->> 'call_id' as call_id,
  d ->> 'tool_name' as tool_name, d ->> 'argument_hash' as argument_hash, p.proposed_at,
  case when r.record is not null then 'resolved' else (
    select c ->> 'state' from session_heads h, json_array_elements(h.state::json #> '{open,calls}') c
    where h.tenant_id = p.tenant_id and h.session_id = p.session_id
      and c ->> 'pending_call_id' = d ->> 'pending_call_id'
  ) end as state, (r.record::json ->> 'recorded_at')::timestamptz as resolved_at
from proposals p cross join json_array_elements(p.decisions) d
left join receipts r on r.tenant_id = p.tenant_id and r.session_id = p.session_id
  and r.pending_call_id = d ->> 'pending_call_id'
where d ->> 'pending_call_id' is not null;

-- Each in one place: the newest with tools in the session's head, unused ones beside it, used ones at their proposal.
create view prepared_requests as
select tenant_id, session_id, prepared::json ->> 'id' as prepared_request_id, prepared::json as request,
  null::timestamptz as consumed_at
from session_heads where prepared is not null
union all
select tenant_id, session_id, prepared_request_id, request::json, null from set_aside_requests
union all
select tenant_id, session_id, prepared_request_id, request, proposed_at from proposals;
