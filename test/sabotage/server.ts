import type { Bugs } from './sabotages.js'

/** Sessions, workflows and plans on the server. */
export const serverSabotages: Bugs = {
  'packages/server/src/change/shared-limits.ts': [
    {
      breaks: 'shared-limit.never-exceeded',
      from: 'bound: guarded ? limit.most : null,',
      to: "bound: guarded ? '1000000' : null,",
    },
    {
      breaks: 'label.sticks-to-principal',
      from: "outcome === 'not_executed' ? [] : call.adds_labels",
      to: '[]',
    },
    {
      breaks: 'label.sticks-from-the-allow',
      from: 'callId !== null && sticks(plan, tool_name)',
      to: 'false',
    },
  ],
  'packages/server/src/schema/distribution.ts': [
    { breaks: 'scale.distribute', from: '    references,\n', to: '    [],\n' },
  ],
  'packages/server/src/base/work/fair-queue.ts': [
    {
      breaks: 'limit.fair.begin',
      from: '      lines.delete(owner)\n      if (line.length > 0) lines.set(owner, line)',
      to: '      if (line.length === 0) lines.delete(owner)',
    },
  ],
  'packages/server/src/base/work/thread-pool.ts': [
    { breaks: 'limit.fair.time', from: ', usedMs: used.of }', to: ' }' },
    { breaks: 'limit.fair.time', from: 'Math.max(1, threads - 1)', to: 'threads' },
    { breaks: 'isolation.memory', from: "if (error.over === 'memory' && ", to: 'if (false && ' },
  ],
  'packages/server/src/base/work/one-thread.ts': [
    { breaks: 'isolation.deadline', from: 'if (leftMs > 1) timer', to: 'if (true) timer' },
    {
      breaks: 'isolation.deadline',
      from: 'timeLimitMs - (usedMs() - usedBeforeMs)',
      to: 'timeLimitMs - (performance.now() - beganMs)',
    },
    {
      breaks: 'isolation.written',
      from: 'if (said === WRITES) return current?.writes?.()',
      to: 'if (said === WRITES) return',
    },
  ],
  'packages/server/src/process/isolation.ts': [
    { breaks: 'isolation.written', from: 'if (error.hasWritten) {', to: 'if (false) {' },
    {
      breaks: 'isolation.ended',
      from: "new ApiError('UNAVAILABLE', { detail }, RETRY_AFTER)",
      to: "new ApiError('TOO_COSTLY')",
    },
  ],
  'packages/server/src/change/advance.ts': [
    {
      breaks: 'isolation.controls',
      from: "leaseUntil === 'renewed' ? leaseMsOf(state, plan) : before.leaseMs",
      to: "leaseUntil === 'renewed' ? leaseMsOf(state, plan) : 1_000",
    },
  ],
  'packages/server/src/context/plans-in-place.ts': [
    {
      breaks: 'isolation.others',
      from: 'plan === undefined || planCost(plan) * bodyBytes > IN_PLACE.costOfBytes',
      to: 'plan === undefined',
    },
  ],
  'packages/server/src/captures/forget-session.ts': [
    {
      breaks: 'limit.fair.erasures',
      from: 'if (!(await holdClaim(tx, claim))) return false\n    for',
      to: 'await holdClaim(tx, claim)\n    for',
    },
  ],
  'packages/server/src/process/jobs/job.ts': [
    { breaks: 'limit.jobs.pieces', from: 'if (isMore) await leaveJobDue(tx, job)\n', to: '\n' },
    { breaks: 'limit.jobs.pieces', from: 'more && performance.now() < endMs', to: 'more && !ran' },
    { breaks: 'limit.jobs.pieces', from: 'if (ran) await services', to: 'if (!ran) await services' },
    {
      breaks: 'limit.jobs.pieces',
      from: 'piece < PIECES_PER_TURN && performance.now() < endMs',
      to: 'piece < PIECES_PER_TURN && endMs > 0',
    },
  ],
  'packages/server/src/process/jobs/retentions.ts': [
    { breaks: 'limit.jobs.pieces', from: 'retention.large ? BATCH.large : BATCH.small', to: 'BATCH.small' },
  ],
  'packages/server/src/process/jobs/sign-heads.ts': [
    { breaks: 'limit.jobs.pieces', from: 'const EVENTS_BATCH = 5_000', to: 'const EVENTS_BATCH = 500_000' },
    { breaks: 'limit.jobs.pieces', from: 'return !isAll || until !== null', to: 'return !isAll' },
    { breaks: 'limit.fair.signing', from: 'loadAll(tx, moved, recent, round)', to: 'loadAll(tx, moved, round)' },
  ],
  'packages/server/src/entry/senders.ts': [
    {
      breaks: 'limit.fair.shared-connections',
      from: 'before?.credential === credentialOf(incoming)',
      to: 'before !== undefined',
    },
  ],
  'packages/server/src/process/jobs/watch-rates.ts': [
    { breaks: 'limit.fair.watched-rates', from: 'used.of(approval.tenantId) > SHARE_MS', to: 'SHARE_MS < 0' },
  ],
  'packages/server/src/store/dashboard/decision-counts.ts': [
    { breaks: 'limit.jobs.pieces', from: 'const PIECE_EVENTS = 5_000', to: 'const PIECE_EVENTS = 500_000' },
    { breaks: 'limit.jobs.pieces', from: 'or bytes > ${PIECE_BYTES}', to: '' },
    {
      breaks: 'limit.jobs.pieces',
      from: "greatest(date_trunc('milliseconds', at), ${since}::timestamptz + interval '1 millisecond') as at\n    from (\n      select at, row_number()",
      to: "date_trunc('milliseconds', at) as at\n    from (\n      select at, row_number()",
    },
  ],
  'packages/server/src/store/workflows/handoffs.ts': [
    { breaks: 'limit.jobs.pieces', from: '.sort((a, b) => a.turn - b.turn)', to: '' },
    {
      breaks: 'limit.jobs.pieces',
      from: '      order by h.expires_at limit ${limit}',
      to: '      order by h.expires_at',
    },
  ],
  'packages/server/src/process/mail/mail-worker.ts': [
    { breaks: 'limit.fair.mail-queue', from: 'if (isWoken) return\n', to: '\n' },
  ],
  'packages/server/src/store/governance/plans.ts': [
    {
      breaks: 'limit.jobs.pieces',
      from: 'g.compiled_hash = o.compiled_hash offset 0)',
      to: 'md5(g.compiled_hash) = md5(o.compiled_hash))',
    },
    {
      breaks: 'limit.jobs.pieces',
      from: 'update plans p set used_at = statement_timestamp() from judged',
      to: 'update plans p set used_at = p.used_at from judged',
    },
  ],
  'packages/server/src/store/captures/unlearned.ts': [
    { breaks: 'limit.fair.learning-line', from: '      where w.place < ${MOST_AGENTS}\n', to: '' },
    {
      breaks: 'limit.jobs.found',
      from: 'and at = c.at::timestamptz offset 0',
      to: 'and session_id = c.session_id',
    },
  ],
  'packages/server/src/captures/learn-captures.ts': [
    {
      breaks: 'background.set-aside',
      from: "const why = ownFault(error, 'reading or writing what they tell')",
      to: 'const why = null as string | null',
    },
  ],
  'packages/server/src/context/tasks.ts': [
    { breaks: 'background.run-gives-up', from: 'return isStatementTimeout(error) ?', to: 'return error === null ?' },
  ],
  'packages/server/src/store/governance/plan-use.ts': [
    {
      breaks: 'limit.fair.watched-rates',
      from: 'const isDue = sql`promises_rates is not false\n',
      to: 'const isDue = sql`true\n',
    },
  ],
  'packages/server/src/workflows/expire-offers.ts': [
    { breaks: 'limit.jobs.pieces', from: 'failed.add(tenantId)\n', to: '\n' },
    { breaks: 'limit.jobs.offers', from: 'writingMs > LIST_MS', to: 'writingMs > 60_000' },
  ],
  'packages/server/src/store/runs/runs.ts': [
    { breaks: 'people.review.evidence', from: " and status = 'done' and report is not null\n", to: '\n' },
    { breaks: 'people.review.evidence', from: " and against ->> 'agent' = ${agent}`", to: '`' },
    {
      breaks: 'background.runs-in-turn',
      from: 'export const MOST_UNDER_WAY = 2',
      to: 'export const MOST_UNDER_WAY = 3',
    },
    {
      breaks: 'background.runs-in-turn',
      from: 'await tx`select pg_advisory_xact_lock(${CLAIM_LOCK})`',
      to: 'await tx`select ${CLAIM_LOCK}::int`',
    },
    {
      breaks: 'background.runs-in-turn',
      from: 'order by under_way.runs, first.created_at limit',
      to: 'order by first.created_at limit',
    },
    {
      breaks: 'limit.jobs.found',
      from: "r.tenant_id = t.tenant_id and r.status = 'running'",
      to: "r.tenant_id = t.tenant_id and r.status || '' = 'running'",
    },
  ],
  'packages/server/src/postgres/opening.ts': [
    { breaks: 'scale.pgbouncer', from: '...(!isPooled && { options })', to: 'options' },
  ],
  'packages/server/src/postgres/hosts.ts': [
    { breaks: 'scale.failover', from: 'if (!needsPrimary(url) && only', to: 'if (only' },
  ],
  'packages/server/sql/functions/write_extras.sql': [
    {
      breaks: 'shared-limit.released',
      from: 'greatest(sum(amount), 0) as amount',
      to: 'greatest(max(amount), 0) as amount',
    },
  ],
  'packages/server/src/change/guards.ts': [
    {
      breaks: 'state.bypass.writes-rejected',
      from: "if (status === 'COMPROMISED') throw",
      to: "if (status === 'COMPROMISED' && session.head.state.open !== null) throw",
    },
    { breaks: 'control.end', from: 'if (session.head.state.endedAt !== undefined) throw', to: 'if (false) throw' },
    {
      breaks: 'state.recover.rotates-fence',
      from: 'if (fence !== session.head.state.fence) throw',
      to: 'if (fence > session.head.state.fence) throw',
    },
  ],
  'packages/server/src/change/session-view.ts': [
    { breaks: 'endpoint.session-get.pending', from: "    .filter((call) => call.state !== 'resolved')\n", to: '' },
    {
      breaks: 'record.session.state-version',
      from: '    state_version: state.stateVersion,\n    control_revision: state.controlRevision,\n    fence: state.fence,\n    lease_until: head',
      to: '    state_version: state.controlRevision,\n    control_revision: state.controlRevision,\n    fence: state.fence,\n    lease_until: head',
    },
  ],
  'packages/server/src/sessions/preflight.ts': [
    {
      breaks: 'turn.preflight.stale-rejected',
      from: 'if (body.state_version !== session',
      to: 'if (body.state_version > session',
    },
    { breaks: 'turn.preflight.invalid-rejected', from: '    requireAuthority(session)\n', to: '' },
  ],
  'packages/server/src/sessions/prepared-request.ts': [
    { breaks: 'turn.next', from: ' || plan.inputPaths.length > 0', to: '' },
    { breaks: 'turn.next', from: 'plan.shared !== null || ', to: '' },
    { breaks: 'turn.next', from: '  if (blocked !== null) return null\n', to: '' },
    { breaks: 'turn.next', from: ' && pendingCalls(session).length === 0', to: '' },
    { breaks: 'turn.next', from: "status === 'ACTIVE' && ", to: '' },
    { breaks: 'turn.next.same-again', from: 'isSame && isUsable ?', to: 'isUsable ?' },
    { breaks: 'turn.next.same-again', from: 'isBoundTo(session, prepared) && ', to: '' },
    {
      breaks: 'turn.prepared-request.bound-to-state',
      from: '    bound.control_revision === controlRevision &&\n',
      to: '',
    },
    { breaks: 'error.proposal-stale', from: '    bound.state_version === stateVersion &&\n', to: '' },
  ],
  'packages/server/src/sessions/propose.ts': [
    {
      breaks: 'turn.prepared-request.single-use',
      from: 'prepared: request.withTools ? null : session.head.prepared',
      to: 'prepared: session.head.prepared',
    },
    {
      breaks: 'state.prepared-request.repeated',
      from: '    if (found.consumedAt !== null) return alreadyProposed(loaded, body)\n',
      to: '',
    },
  ],
  'packages/server/sql/functions/receive_2.sql': [
    { breaks: 'turn.next', from: 'and e.request_id = p_request', to: "and e.request_id = ''" },
    { breaks: 'turn.next', from: 'and r.prepared_request_id = p_request', to: "and r.prepared_request_id = ''" },
  ],
  'packages/server/src/sessions/submit-receipts.ts': [
    { breaks: 'turn.next', from: 'body.fence === before.state.fence && app.isInPlace', to: 'app.isInPlace' },
    {
      breaks: 'turn.receipt.argument-hash',
      from: 'argument_hash: receipt.argument_hash,',
      to: "argument_hash: '0'.repeat(64),",
    },
    { breaks: 'record.receipt', from: 'outcome: result.outcome,', to: "outcome: 'unknown'," },
  ],
  'packages/server/src/sessions/append-label.ts': [
    {
      breaks: 'endpoint.labels.response',
      from: 'reply: { labels: [...head.state.labels]',
      to: 'reply: { labels: [label]',
    },
    {
      breaks: 'endpoint.labels.duplicate',
      from: 'if (labels.includes(label)) return',
      to: 'if (labels.at(-1) === label) return',
    },
  ],
  'packages/server/src/sessions/recover-session.ts': [
    { breaks: 'state.recover', from: " || status === 'COMPROMISED') throw", to: ') throw' },
    { breaks: 'state.kill.irreversible', from: "if (status === 'KILLED' || status", to: 'if (status' },
  ],
  'packages/server/src/sessions/create-session.ts': [
    {
      breaks: 'workflow.only-when-enabled',
      from: 'body.workflow !== undefined && !ctx.app.config.workflows',
      to: 'body.workflow === undefined && !ctx.app.config.workflows',
    },
  ],
  'packages/server/src/workflows/kill.ts': [
    {
      breaks: 'workflow.kill',
      from: "if (head.state.status === 'KILLED') continue",
      to: "if (head.state.status !== 'ACTIVE') continue",
    },
  ],
  'packages/server/src/workflows/held-resources.ts': [
    {
      breaks: 'workflow.resource-conflicts',
      from: 'byKey.get(saltedHash(workflow.keySalt, key))',
      to: "byKey.get(saltedHash('', key))",
    },
  ],
  'packages/server/src/workflows/reclaim-handoff.ts': [
    {
      breaks: 'endpoint.handoff-reclaim.eligible',
      from: 'if (!isStopped && leaseUntil > now) throw',
      to: 'if (!isStopped && leaseUntil < now) throw',
    },
  ],
  'packages/server/src/workflows/complete-handoff.ts': [
    { breaks: 'endpoint.handoff-complete', from: "    await recordOnSession(giver, [eventOf('from')])\n", to: '' },
  ],
  'packages/server/src/workflows/join-workflow.ts': [
    {
      breaks: 'endpoint.session-create.workflow-child',
      from: 'const tools = handoff === null ? roleTools : handoff.tools',
      to: 'const tools = roleTools',
    },
  ],
  'packages/server/src/governance/lookup-plan.ts': [
    { breaks: 'endpoint.plan.metadata', from: 'draft: draft === null ? null : metadataOf(draft)', to: 'draft: null' },
    {
      breaks: 'plan-lookup.status',
      from: "approved !== null ? 'approved' : draft !== null ? 'draft' : 'none'",
      to: "draft !== null ? 'draft' : approved !== null ? 'approved' : 'none'",
    },
  ],
  'packages/server/src/governance/edit-plan.ts': [
    {
      breaks: 'people.edits.none-lost',
      from: 'body.files_hash !== hashOfFiles(plan.files)',
      to: 'body.files_hash === plan.compiledHash',
    },
  ],
  'packages/server/src/store/dashboard/agents.ts': [
    { breaks: 'scale.flat', from: '${since > until ? since : until}', to: '${since}' },
    {
      breaks: 'people.agents.last-seen',
      from: "\n            and e.type not in ('killed', 'label', 'handoff_expired')",
      to: '',
    },
  ],
  'packages/server/src/dashboard/figures/coverage.ts': [
    { breaks: 'people.covered.one-meaning', from: 'row.calls - row.uncovered', to: 'row.calls' },
    { breaks: 'learn.dashboard-coverage', from: 'covered / calls', to: 'calls / calls' },
    { breaks: 'people.covered.one-meaning', from: 'captured ?? { calls', to: '{ calls' },
  ],
  'packages/server/src/dashboard/figures/period.ts': [
    { breaks: 'people.agents.same-window', from: 'Math.floor(nowMs / grainMs)', to: 'Math.ceil(nowMs / grainMs)' },
  ],
  'packages/server/src/store/workflows/workflow-view.ts': [
    { breaks: 'people.workflows.killed-handoffs', from: "where w.status = 'ACTIVE' and h.", to: 'where h.' },
  ],
  'packages/server/src/schema/indexes-ahead.ts': [
    { breaks: 'scale.index-ahead', from: '`create index concurrently if', to: '`create index if' },
  ],
  'packages/server/src/schema/migrate.ts': [
    { breaks: 'scale.index-ahead', from: '  await dropUnfinishedIndexes(tx, text)\n', to: '' },
  ],
  'packages/server/src/store/dashboard/session-list.ts': [
    {
      breaks: 'scale.names-tenant',
      from: 'join session_heads h on h.tenant_id = ${tenantId} and',
      to: 'join session_heads h on h.tenant_id = s.tenant_id and',
    },
    {
      breaks: 'limit.pages.sessions-of-facet',
      from: '.some((asked) => asked !== null)',
      to: '.every((asked) => asked !== null)',
    },
    {
      breaks: 'scale.flat',
      from: `coalesce((
        select agent = \${text} from sessions where tenant_id = \${tenantId} and agent >= \${text} order by agent limit 1
      ), false) as is_agent`,
      to: 'exists (select 1 from sessions where tenant_id = ${tenantId} and agent = ${text}) as is_agent',
    },
  ],
  'packages/server/src/store/captures/captures.ts': [
    { breaks: 'people.covered.one-meaning', from: "validation?.mode !== 'enforce'", to: 'validation === undefined' },
    { breaks: 'limit.pages.captures-of-tool', from: 'and (at, capture_id) >= ${pageEnd(sql, stopped)}', to: '' },
  ],
  'packages/server/src/store/dashboard/call-list.ts': [
    { breaks: 'limit.unanswered.listed', from: 'and u.at >= ${endTime(sql, stopped)}', to: '' },
    { breaks: 'scale.flat', from: 'count *= 2) {', to: 'count = all.length) {' },
    {
      breaks: 'scale.flat',
      from: "r.pending_call_id = d ->> 'pending_call_id' offset 0",
      to: "r.pending_call_id = d ->> 'pending_call_id'",
    },
  ],
  'packages/server/src/governance/list-contracts.ts': [
    {
      breaks: 'learn.dashboard-pass-rate',
      from: 'known.passed / known.judged',
      to: 'known.passed / (known.judged + 1)',
    },
  ],
  'packages/server/src/store/dashboard/unanswered-calls.ts': [
    {
      breaks: 'scale.flat',
      from: "r.pending_call_id = d ->> 'pending_call_id' offset 0",
      to: "r.pending_call_id = d ->> 'pending_call_id'",
    },
    { breaks: 'limit.unanswered.counted', from: 'order by at limit ${MOST_COUNTED + 1}', to: 'order by at' },
    {
      breaks: 'limit.unanswered.dropped',
      from: 'where tenant_id = ${tenantId} and at = p.at and session_id = e.session_id and seq = p.seq offset 0',
      to: 'where tenant_id = ${tenantId} offset 0',
    },
  ],
  'packages/server/src/process/start-server.ts': [
    {
      breaks: 'scale.drain',
      from: `      runtime.reportNotReady()
      // Who`,
      to: '      // Who',
    },
  ],
}
