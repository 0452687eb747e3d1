-- Addresses that are told of questions. Messages to them wait in the outbox, as mails do.
create table webhooks (
  tenant_id     text not null references tenants,
  webhook_id    text not null,
  url           text not null,
  -- Encrypted under a signing key, for this row. The one before it signs as well until its time has passed.
  secret        text not null,
  old_secret    text,
  old_until     timestamptz,
  created_at    timestamptz not null default clock_timestamp(),
  -- Since when nothing has arrived.
  failing_since timestamptz,
  disabled_at   timestamptz,
  primary key (tenant_id, webhook_id)
);

alter table deliveries drop constraint deliveries_channel_check;
alter table deliveries add constraint deliveries_channel_check check (channel in ('all', 'mail', 'webhook'));
-- To a webhook: what of the question changes, as it was then, and the status of the last answer.
alter table deliveries add column said json;
alter table deliveries add column status int;

create index if not exists notices_due on deliveries (next_at) where next_at is not null and channel <> 'webhook';
create index if not exists webhook_messages_due on deliveries (tenant_id, recipient, next_at)
  where next_at is not null and channel = 'webhook';
create index if not exists deliveries_by_recipient on deliveries (tenant_id, channel, recipient, created_at desc);
drop index deliveries_due;

-- A mail that tells an owner of a disabled webhook.
alter table mail_queue add column webhook_id text;
alter table mail_queue drop constraint mail_queue_kind_check;
alter table mail_queue add constraint mail_queue_kind_check
  check (case kind
    when 'invite' then invitation_id is not null
    when 'webhook' then user_id is not null and webhook_id is not null
    else kind in ('reset', 'verify') and user_id is not null end);
