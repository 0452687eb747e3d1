-- How tools of MCP servers are defined, as somebody first relied on it or a person last approved it. A tool whose server
-- says something else is blocked; the difference stands here until a person approves it.
create table tool_pins (
  tenant_id          text not null,
  agent              text not null,
  environment        text not null,
  -- Empty where contracts name the tools alone.
  server             text not null,
  tool_name          text not null,
  hash               text not null,
  definition         json not null,
  pinned_at          timestamptz not null,
  -- The person's address; null where it was first seen so.
  approved_by        text,
  -- What differs; null where nothing does.
  changed_hash       text,
  changed_definition json,
  changed_at         timestamptz,
  primary key (tenant_id, agent, environment, server, tool_name)
);
create index tool_pins_changed on tool_pins (tenant_id, changed_at) where changed_hash is not null;
