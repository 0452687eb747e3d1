-- What jobs look for is found without reading what they leave alone, however much of it there is.

-- By agent those without receipts to wait for, then the others by age: the first of each agent says whether it has any
-- that can be learned from now.
drop index captures_unlearned;
create index captures_unlearned on captures (tenant_id, agent, governed, received_at) where not learned;

-- Summaries of pages never forget a time. Once retention had made room and new rows took it, every page seemed to hold
-- old ones, and each look for them read the whole table.
drop index captures_by_age;
create index captures_by_age on captures (received_at);
drop index content_by_time;
create index content_by_time on content (created_at);
drop index late_receipts_by_time;
create index late_receipts_by_time on late_receipts (recorded_at);
drop index set_aside_requests_by_time;
create index set_aside_requests_by_time on set_aside_requests (expires_at);

create index mail_tokens_by_end on mail_tokens (expires_at);
create index mail_queue_settled on mail_queue (created_at) where sent_at is not null or given_up_at is not null;
