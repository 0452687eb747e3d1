-- Takes tokens from a bucket, exactly once whatever else happens at the same time: all that are wanted, or one, or none.
-- Tokens that were taken earlier and not needed come back, up to a hundredth of a full bucket. The owner is a tenant or,
-- before sign-in, a hash. Returns how many were granted and how many are left.
create function take_tokens(
  p_owner text, p_bucket text, p_capacity float8, p_fill_seconds float8, p_wanted integer, p_returned integer
) returns json
language plpgsql as $$
declare
  v_bucket buckets;
  v_now timestamptz;
  v_level float8;
  v_granted integer;
begin
  select * into v_bucket from buckets b where b.owner = p_owner and b.bucket = p_bucket for no key update;
  if not found then
    insert into buckets (owner, bucket, tokens, refilled_at, taken)
    values (p_owner, p_bucket, p_capacity, clock_timestamp(), true)
    on conflict do nothing;
    select * into v_bucket from buckets b where b.owner = p_owner and b.bucket = p_bucket for no key update;
  end if;
  -- The time once it has the row: while it waited, others took.
  v_now := clock_timestamp();
  v_level := least(
    p_capacity,
    v_bucket.tokens + least(p_returned, greatest(1, p_capacity / 100))
      + greatest(0, extract(epoch from v_now - v_bucket.refilled_at)) * p_capacity / p_fill_seconds
  );
  v_granted := case when v_level >= p_wanted then p_wanted when v_level >= 1 then 1 else 0 end;
  update buckets b
  set tokens = v_level - v_granted, refilled_at = v_now, taken = v_granted > 0, granted = v_granted
  where b.owner = p_owner and b.bucket = p_bucket;
  return json_build_object('granted', v_granted, 'tokens', v_level - v_granted);
end $$;
