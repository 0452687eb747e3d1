-- Allowed calls that were stopped before they ran: by a person, a constraint or a control. Counts and lists of decisions
-- show them as blocked from then on, although their proposal was counted as allowed. Names are read from the proposal.
create table stopped_calls (
  tenant_id   text not null,
  at          timestamptz not null,
  session_id  text not null,
  proposal_id text not null,
  call_index  integer not null,
  proposed_at timestamptz not null,
  reason      text not null,
  primary key (tenant_id, at, session_id, proposal_id, call_index)
);
create index stopped_calls_by_time on stopped_calls (at);
