-- Captures that nobody learned from yet, by the batches they came in, and apart from the captures: to mark one there, its
-- row was written anew, and an entry into each of four indexes that grow.
create table unlearned_captures (
  tenant_id   text not null,
  agent       text not null,
  -- From when on they may be learned from: where there will be receipts, they are waited for.
  due_at      timestamptz not null,
  -- One of them, so that two batches of one moment are two rows.
  first_id    text not null,
  capture_ids text[] not null,
  captures    integer not null,
  primary key (tenant_id, agent, due_at, first_id)
);

insert into unlearned_captures (tenant_id, agent, due_at, first_id, capture_ids, captures)
select tenant_id, agent, max(received_at) + case when governed then interval '3 minutes' else interval '0' end,
  min(capture_id), array_agg(capture_id), count(*)
from (
  select tenant_id, agent, governed, received_at, capture_id,
    row_number() over (partition by tenant_id, agent, governed order by received_at) / 500 as part
  from captures where not learned
) as waiting
group by tenant_id, agent, governed, part;

drop index captures_unlearned;
alter table captures drop column learned;
