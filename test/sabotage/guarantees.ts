import type { Bugs } from './sabotages.js'

/** What docs/guarantees.md promises of kills, keys, tenants, approvals, receipts, ledgers and quotas. */
export const guaranteeSabotages: Bugs = {
  'packages/server/sql/functions/prepare.sql': [
    { breaks: 'auth.key.revoked-at-once', from: ' and k.revoked_at is null', to: '' },
    { breaks: 'scale.write-functions', from: 't.quota = p_quota and', to: '' },
  ],
  'packages/server/sql/functions/record.sql': [
    { breaks: 'scale.write-functions', from: ' and h.revision = p_known', to: '' },
  ],
  'packages/server/sql/functions/propose.sql': [
    { breaks: 'guarantee.kill-wins', from: ' and h.revision = p_known', to: '' },
  ],
  'packages/server/src/entry/authenticate.ts': [
    {
      breaks: 'auth.unverified',
      from: "  if (!holder.verified) throw new ApiError('EMAIL_NOT_VERIFIED')\n",
      to: '',
    },
  ],
  'packages/server/src/store/sessions/sessions.ts': [
    {
      breaks: 'guarantee.tenants-apart',
      from: 'h.tenant_id = ${tenantId} and h.session_id = ${sessionId}\n    where s.tenant_id = ${tenantId} and',
      to: 'h.tenant_id = s.tenant_id and h.session_id = ${sessionId}\n    where',
    },
  ],
  'packages/server/src/store/governance/governance-plans.ts': [
    {
      breaks: 'guarantee.tenants-apart',
      from: 'files from governance_plans where tenant_id = ${tenantId} and plan_id',
      to: 'files from governance_plans where plan_id',
    },
  ],
  'packages/server/src/change/guards.ts': [
    {
      breaks: 'control.kill.held-by-server',
      from: "if (status === 'KILLED') throw",
      to: "if (status === 'KILLED' && session.head.state.open !== null) throw",
    },
  ],
  'packages/server/src/sessions/propose.ts': [
    {
      breaks: 'guarantee.kill-wins',
      from: '    requireAuthority(session)\n    if (found.consumedAt',
      to: '    if (found.consumedAt',
    },
  ],
  'packages/server/src/store/sessions/change-extras.ts': [
    { breaks: 'people.acts.breaker', from: 'change.audit ?? breakerEntry(change)', to: 'change.audit' },
  ],
  'packages/server/src/store/sessions/write-change.ts': [
    { breaks: 'people.agents.unnamed', from: 'state.agent ?? UNNAMED_AGENT', to: "state.agent ?? 'unnamed'" },
  ],
  'packages/server/src/sessions/preflight.ts': [
    {
      breaks: 'guarantee.one-open-proposal',
      from: 'if (body.tools.length > 0) requireNothingPending(session)',
      to: 'if (body.tools.length > 1_000) requireNothingPending(session)',
    },
  ],
  'packages/engine/src/judge/checkpoint.ts': [
    {
      breaks: 'guarantee.approval-bound',
      from: '        approval.argument_hash === call.argument_hash &&\n',
      to: '',
    },
    {
      breaks: 'guarantee.approval-bound',
      from: '        approval.checkpoint_id === id &&\n',
      to: '',
    },
    {
      breaks: 'people.acts.approver-hashed',
      from: 'if (decided_by !== undefined) record.decided_by_hash = saltedHash(salt, decided_by)',
      to: '',
    },
  ],
  'packages/engine/src/judge/receipts.ts': [
    {
      breaks: 'turn.receipt.weak-evidence',
      from: "    receipt.evidence_level === 'executed' &&\n",
      to: '',
    },
    {
      breaks: 'turn.receipt.advances-on-commit',
      from: "if (call.commit_requirement === 'reported') return true",
      to: "if (call.commit_requirement === 'reported') return false",
    },
  ],
  'packages/engine/src/judge/provider-run.ts': [
    { breaks: 'guarantee.provider-run', from: 'adds_labels: labels,', to: 'adds_labels: [],' },
  ],
  'packages/engine/src/state/apply-event.ts': [
    {
      breaks: 'label.never-removed',
      from: 'labels: [...new Set([...state.labels, ...added])]',
      to: 'labels: [...added]',
    },
  ],
  'packages/engine/src/state/apply-proposal.ts': [
    {
      breaks: 'turn.proposal.no-advance',
      from: '  next.open = {\n',
      to: '  next.stateVersion += 1\n  next.open = {\n',
    },
  ],
  'packages/engine/src/ledger/verify-links.ts': [
    {
      breaks: 'guarantee.ledger-folds',
      from: "  if (event.prev_hash !== expected.prevHash) return 'prev_hash is not the hash of the previous event'\n",
      to: '',
    },
  ],
  'packages/engine/src/ledger/chain.ts': [
    {
      breaks: 'guarantee.ledger-folds',
      from: 'const isSame = state !== null && sameState(state, stored.state)',
      to: 'const isSame = state !== null',
    },
  ],
  'packages/engine/src/ledger/signatures.ts': [
    {
      breaks: 'ledger.rewritten-fails-verify',
      from: 'if (hashAt !== signed.hash) return',
      to: 'if (hashAt === null) return',
    },
    {
      breaks: 'ledger.rollback-fails-verify',
      from: 'if (head.seq < signed.seq)',
      to: 'if (head.seq === 0)',
    },
    {
      breaks: 'ledger.verify-pinned-keys',
      from: "return isRight ? null : 'the signature does not match'",
      to: "return isRight || key_id !== '' ? null : 'the signature does not match'",
    },
  ],
  'packages/engine/src/ledger/seals.ts': [
    {
      breaks: 'ledger.seals-checked',
      from: 'if (same === undefined || sealDigest(same) === sealDigest(kept)) return null',
      to: 'if (same === undefined || same.number === kept.number) return null',
    },
  ],
  'packages/server/src/process/jobs/sign-heads.ts': [
    {
      breaks: 'ledger.signing-refuses-contradiction',
      from: 'if (problem !== null || signed.seq === head?.seq) return null',
      to: 'if (signed.seq === head?.seq) return null',
    },
    {
      breaks: 'ledger.seals-chain',
      from: 'prev_digest: before === null ? GENESIS_HASH : sealDigest(before),',
      to: 'prev_digest: GENESIS_HASH,',
    },
    {
      breaks: 'ledger.deleted-session-alarms',
      from: 'contradictionOf(signed, { head: head ?? { seq: 0, hash: ',
      to: 'contradictionOf(signed, { head: head ?? { seq: signed.seq, hash: ',
    },
  ],
  'packages/server/src/ledgers/content-check.ts': [
    {
      breaks: 'content.forged-not-shown',
      from: 'return argument_hash === null || hashOrNull(salt, value) === argument_hash',
      to: 'return argument_hash === null || hashOrNull(salt, value) !== null',
    },
  ],
  'packages/server/src/store/days-ago.ts': [
    {
      breaks: 'clock.database-deletes',
      from: 'sql`statement_timestamp() - ${days}',
      to: 'sql`statement_timestamp() - ${days - 100}',
    },
  ],
  'packages/server/src/entry/byte-quota.ts': [
    {
      breaks: 'limit.bytes.per-day',
      from: 'if (missing > 0) throw exceeded',
      to: 'if (missing > 2 * count.perDay) throw exceeded',
    },
    {
      breaks: 'limit.bytes.stop-and-evidence',
      from: "if (throttle === 'stop') return Number.NEGATIVE_INFINITY",
      to: "if (throttle === 'stop') return -perDay",
    },
  ],
  'packages/server/src/sessions/stop-agent.ts': [
    {
      breaks: 'endpoint.agent-stop',
      from: '        failed.push({ session_id: sessionId, problem })\n',
      to: '',
    },
  ],
  'packages/server/src/captures/strip-capture.ts': [
    {
      breaks: 'capture.metadata.nothing-else',
      from: '(withArguments ? call : { ...call, arguments: null })',
      to: '({ ...call, arguments: call.arguments })',
    },
  ],
  'packages/sdk/src/authority/remote/link.ts': [
    {
      breaks: 'session.kill.not-held',
      from: "create === null || create === 'unanswered'",
      to: "create !== 'untried'",
    },
    {
      breaks: 'state.unguarded.auto-kill',
      from: 'if (unguarded > maxUnguardedCalls) {',
      to: 'if (unguarded > maxUnguardedCalls + 1) {',
    },
    {
      breaks: 'option.on-error.allow',
      from: "if (onError === 'block' || !isKnown) throw",
      to: "if (onError !== 'block' || !isKnown) throw",
    },
  ],
  'packages/engine/src/response/read-call.ts': [
    {
      breaks: 'guarantee.judged-runs',
      from: 'const value: JsonValue = JSON.parse(text)',
      to: 'const value = raw as JsonValue',
    },
  ],
  'packages/sdk/src/calls/run-tool.ts': [
    {
      breaks: 'guarantee.runs-once',
      from: 'call.takesText && args === judged.input ? args : structuredClone(judged)',
      to: 'args',
    },
  ],
  'packages/sdk/src/turn/judge-stream.ts': [
    {
      breaks: 'guarantee.streams-held',
      from: 'else if (join === null) yield* free',
      to: 'else if (join === null) yield event',
    },
  ],
  'packages/engine/src/explain/diff-contracts.ts': [
    {
      breaks: 'learn.widening-shown',
      from: '    ...diffArguments(was.arguments, is.arguments, say, comparison),\n',
      to: '',
    },
  ],
  'packages/server/src/sessions/recover-session.ts': [
    {
      breaks: 'guarantee.processes.one-holder',
      from: 'session.head.leaseUntil > session.now && !body.takeover',
      to: 'session.head.leaseUntil < session.now && !body.takeover',
    },
    {
      breaks: 'guarantee.processes.lost-holder',
      from: 'if (pending.length > 0 && session.head.leaseUntil > session.now && !body.takeover) {',
      to: 'if (pending.length > 1 && !body.takeover) {',
    },
  ],
  'packages/sdk/src/turn/turn.ts': [
    {
      breaks: 'guarantee.processes.fresh-word',
      from: 'register(session, allowedCalls(answer, verdict, ageMs)',
      to: 'register(session, allowedCalls(answer, verdict, startAge())',
    },
  ],
  'packages/sdk/src/calls/invoke.ts': [
    {
      breaks: 'guarantee.judged-runs',
      from: "    await settle(match.meant, notExecuted(match.meant, 'execution_constraint_violated'), session)\n",
      to: '',
    },
  ],
  'packages/sdk/src/calls/guard.ts': [
    {
      breaks: 'guarantee.judged-runs',
      from: "if (call.by === 'server' && saltedHash(",
      to: "if (call.by === 'local' && saltedHash(",
    },
  ],
  'packages/sdk/src/authority/confirm-if-old.ts': [
    {
      breaks: 'guarantee.processes.fresh-word',
      from: 'age() > TRUSTED_MS; asked++',
      to: 'age() > TRUSTED_MS && asked === 0; asked++',
    },
  ],
  'packages/sdk/src/authority/remote/remote.ts': [
    {
      breaks: 'guarantee.processes.fresh-word',
      from: "if (call.by === 'server') await confirmIfOld",
      to: "if (!exclusive && call.by === 'server') await confirmIfOld",
    },
    {
      breaks: 'guarantee.processes.known-stop',
      from: '() => confirm(call))\n      assertRunning()\n',
      to: '() => confirm(call))\n',
    },
    {
      breaks: 'guarantee.processes.known-stop',
      from: "if (results.some(({ late }) => late)) link.noteStop('lost')",
      to: '',
    },
  ],
  'packages/sdk/src/authority/local/local-authority.ts': [
    {
      breaks: 'guarantee.processes.fresh-word',
      from: 'confirmIfOld(ageMs, lookForKill)',
      to: 'confirmIfOld(ageMs, async () => {})',
    },
  ],
  'packages/sdk/src/authority/remote/session-api.ts': [
    {
      breaks: 'session.other-contracts',
      from: "if (held.session.compiled_hash !== options.compiled.hash) throw otherPlan(identity.sessionId)\n      const recovered = await transport.call('recoverSession', { params, body }, limits)",
      to: "const recovered = await transport.call('recoverSession', { params, body }, limits)\n      if (held.session.compiled_hash !== options.compiled.hash) throw otherPlan(identity.sessionId)",
    },
  ],
}
