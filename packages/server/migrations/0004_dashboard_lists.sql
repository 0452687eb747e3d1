-- Calls that were allowed and never answered, and what was done to a session, as the dashboard lists them.

-- Allowed calls that had no receipt when their minute was counted. The job that counts removes those that got one since,
-- so the table stays as small as what is open. Names and content are read from the proposal.
create table unanswered_calls (
  tenant_id       text not null,
  at              timestamptz not null,
  session_id      text not null,
  seq             bigint not null,
  call_index      integer not null,
  pending_call_id text not null,
  primary key (tenant_id, at, session_id, seq, call_index)
);

-- From before this table existed.
insert into unanswered_calls (tenant_id, at, session_id, seq, call_index, pending_call_id)
select p.tenant_id, p.proposed_at, p.session_id, p.seq, (d ->> 'index')::int, d ->> 'pending_call_id'
from proposals p cross join json_array_elements(p.decisions) d
where d ->> 'pending_call_id' is not null
  and p.proposed_at < (select until from decision_counts_until)
  and not exists (
    select 1 from receipts r
    where r.tenant_id = p.tenant_id and r.session_id = p.session_id and r.pending_call_id = d ->> 'pending_call_id'
  );

-- What people and programs did to one session, workflow, plan or key.
create index audit_entries_by_subject on audit_entries (tenant_id, subject, audit_id desc) where subject is not null;
