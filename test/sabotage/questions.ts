import type { Bugs } from './sabotages.js'

/** Questions to people. */
export const questionSabotages: Bugs = {
  'packages/engine/src/judge/rules/standing.ts': [
    {
      breaks: 'question.bound',
      from: 'known.filter((one) => one.hash === hash && lifts(one, asked))',
      to: 'known.filter((one) => lifts(one, asked))',
    },
    {
      breaks: 'question.denied-is-final',
      from: 'asked.asksAgain ? undefined : state.questions?.find(isRefused)',
      to: 'undefined',
    },
  ],
  'packages/engine/src/judge/edit-problem.ts': [
    { breaks: 'question.edited', from: 'return now < asked ? null', to: 'return now !== asked ? null' },
    { breaks: 'question.edited', from: 'if (equalValues(restored, card.arguments)) return null', to: 'return null' },
  ],
  'packages/engine/src/judge/judge-call.ts': [
    {
      breaks: 'question.used-once',
      from: 'const redeems = proposal.people?.redeems.has(call.id) === true',
      to: 'const redeems = false',
    },
  ],
  'packages/engine/src/judge/flow-for.ts': [
    { breaks: 'question.flow', from: 'flowWhenAsked(proposal, call) ??', to: '' },
  ],
  'packages/server/src/sessions/create-session.ts': [
    {
      breaks: 'question.no-person',
      from: 'if (body.principal !== undefined) return token',
      to: 'if (token !== null) return token',
    },
  ],
  'packages/server/src/questions/session-questions.ts': [
    { breaks: 'question.wait-ends', from: ' && !hasLeft(ctx)', to: '' },
    { breaks: 'question.wait-ends', from: '      await requireActiveKey(ctx)\n', to: '' },
  ],
  'packages/server/src/questions/try-edit.ts': [
    { breaks: 'question.edited', from: 'filter(({ reason }) => !before.has(reason))', to: 'filter(() => false)' },
  ],
  'packages/server/src/ledgers/check-questions.ts': [
    {
      breaks: 'question.verified',
      from: "saltedHash(salt, stored.edited) !== told.edited_hash) return 'the edit'",
      to: 'saltedHash(salt, stored.edited) !== told.edited_hash) return null',
    },
  ],
  'packages/engine/src/state/questions.ts': [
    {
      breaks: 'question.used-once',
      from: "withState(next, question.question_id, 'used')",
      to: "withState(next, question.question_id, 'approved')",
    },
    {
      breaks: 'question.expire',
      from: 'isLive(state) && Date.parse(until) >= atMs',
      to: 'isLive(state)',
    },
    {
      breaks: 'question.withdrawn-by-kill',
      from: "isLive(one.state) ? { ...one, state: 'withdrawn' } : one",
      to: 'one',
    },
  ],
  'packages/engine/src/ledger/verify-questions.ts': [
    { breaks: 'question.verified', from: "if (known.state === 'used') return", to: 'if (false) return' },
    {
      breaks: 'question.verified',
      from: "if (isLater(at, known.until)) return fail('after",
      to: "if (false) return fail('after",
    },
  ],
  'packages/engine/src/backtest/ask-less.ts': [
    {
      breaks: 'question.ask-less',
      from: 'numbers(true).filter((value) => value < denied)',
      to: 'numbers(true)',
    },
  ],
  'packages/server/src/store/questions/question-changes.ts': [
    {
      breaks: 'question.eligible',
      from: 'and g.name = one.role and g.since <= q.card_at',
      to: 'and g.name = one.role',
    },
    {
      breaks: 'question.eligible',
      from: "u.role in ('approver', 'owner') and u.role_since <= q.card_at",
      to: "u.role in ('approver', 'owner')",
    },
    {
      breaks: 'webhook.events',
      from: "state === 'expired' || state === 'withdrawn'",
      to: "state === 'expired'",
    },
  ],
  'packages/server/src/webhooks/message.ts': [
    { breaks: 'webhook.signed', from: '`${id}.${timestamp}.${body}`', to: '`${id}.${body}`' },
    {
      breaks: 'webhook.secret',
      from: 'return old === null ? [secret] : [secret, old]',
      to: 'return [secret]',
    },
  ],
  'packages/server/src/webhooks/send-webhooks.ts': [
    { breaks: 'webhook.retried', from: 'attempts >= LIMITS.webhookTries', to: 'attempts > LIMITS.webhookTries' },
    { breaks: 'webhook.disabled', from: 'if (why !== null) await', to: 'if (status === GONE) await' },
    { breaks: 'webhook.addresses', from: 'status >= 200 && status < 300', to: 'status >= 200 && status < 400' },
  ],
  'packages/server/src/store/questions/webhook-messages.ts': [
    {
      breaks: 'webhook.once-known',
      from: 'update deliveries d set attempts = d.attempts + 1,\n      next_at =',
      to: 'update deliveries d set attempts = d.attempts + 1,\n      next_at = null, created_at =',
    },
    {
      breaks: 'webhook.retried',
      from: 'd.recipient = ${webhookId} and d.next_at < ${until}',
      to: 'd.recipient = ${webhookId} and false',
    },
  ],
  'packages/server/src/store/questions/deliveries.ts': [
    { breaks: 'question.notices-together', from: 'count(distinct d.sent_at)', to: 'count(d.sent_at)' },
    { breaks: 'question.notices-together', from: 'sent.mails < LIMITS.noticeMailsPerHour', to: 'true' },
  ],
  'packages/server/src/store/questions/outbox.ts': [
    { breaks: 'webhook.signed', from: "where r.rule ~ '#([0-9]+|risk)$'", to: '' },
    { breaks: 'webhook.disabled', from: ' and w.disabled_at is null', to: '' },
  ],
  'packages/server/src/base/crypto/sealed-secrets.ts': [
    {
      breaks: 'webhook.secret',
      from: 'decipher.setAAD(Buffer.from(place))',
      to: "decipher.setAAD(Buffer.from(place.replace('other', 'webhooks')))",
    },
  ],
  'packages/server/src/base/outbound/checked-request.ts': [
    {
      breaks: 'webhook.addresses',
      from: 'AbortSignal.timeout(timeoutMs)',
      to: 'AbortSignal.timeout(timeoutMs + 5_000)',
    },
  ],
  'packages/server/src/webhooks/change-webhooks.ts': [
    { breaks: 'webhook.owners', from: '>= LIMITS.webhooksPerTenant', to: '> LIMITS.webhooksPerTenant' },
  ],
}

/** What a program meets that asks people: nothing runs early, nothing runs twice, and the model reads why. */
export const askingSabotages: Bugs = {
  'packages/sdk/src/turn/redeem.ts': [
    {
      breaks: 'ask.waits',
      from: "own.some(({ state }) => state === 'waiting')) return judged",
      to: 'false) return judged',
    },
    { breaks: 'ask.waits', from: '  if (seconds > 0) turn.leave()\n', to: '' },
    {
      breaks: 'ask.wire',
      from: "if (judged.answer.asked.runs === 'own' && own.some(({ edited_hash }) => edited_hash !== null)) return judged",
      to: '',
    },
    { breaks: 'ask.edited', from: '    changed.set(call.id, call.arguments)\n', to: '' },
  ],
  'packages/sdk/src/turn/propose.ts': [
    {
      breaks: 'ask.waits',
      from: 'response: again === null ? came.response : callsOf(read)',
      to: 'response: came.response',
    },
  ],
  'packages/sdk/src/turn/turn.ts': [
    {
      breaks: 'ask.parks',
      from: 'result.error instanceof ReplayParkedError || retries-- === 0',
      to: 'retries-- === 0',
    },
  ],
  'packages/sdk/src/session/core/notes.ts': [
    {
      breaks: 'ask.parks',
      from: 'decision.blocked.filter((call) => !isAsked(call))',
      to: 'decision.blocked',
    },
  ],
  'packages/sdk/src/session/core/questions.ts': [
    { breaks: 'ask.wire', from: '        told.add(question.question_id)\n', to: '' },
    {
      breaks: 'ask.wire',
      from: 'if (isOpenHere() || isOpenThere()) await load()',
      to: 'if (isOpenHere()) await load()',
    },
    { breaks: 'ask.kill', from: 'await Promise.race([asked, whenKilled])', to: 'await asked' },
  ],
  'packages/sdk/src/session/questions.ts': [
    {
      breaks: 'ask.resume',
      from: "if (state !== 'approved' && !isAllowedHere) return",
      to: "if (state === 'waiting') return",
    },
    { breaks: 'ask.resume', from: "state === 'used' && session.calls", to: 'false && session.calls' },
  ],
  'packages/sdk/src/session/propose-again.ts': [
    { breaks: 'ask.own-question-survives', from: ', unanswered: true })', to: ' })' },
  ],
  'packages/engine/src/judge/rules/invariants.ts': [
    { breaks: 'ask.resume', from: ' || wasJudgedBefore(standing)', to: '' },
  ],
  'packages/engine/src/state/unanswered.ts': [
    {
      breaks: 'ask.own-question-survives',
      from: ' && Date.parse(one.until) >= atMs',
      to: '',
    },
  ],
  'packages/sdk/src/authority/local/local-session.ts': [
    { breaks: 'ask.needs-service', from: '      people: null,\n', to: '' },
  ],
  'packages/sdk/src/authority/remote/complete-decision.ts': [
    { breaks: 'ask.controls', from: 'controls.labels && asksByLabel(plan, decision.tool_name)', to: 'false' },
    { breaks: 'ask.controls', from: 'const isNewlyAsked = controls.labels && ', to: 'const isNewlyAsked = ' },
    {
      breaks: 'ask.controls',
      from: 'own.reasons.filter((block) => !isJudgedThere(block, decision))',
      to: 'own.reasons.some(isForPeople) ? [] : own.reasons',
    },
  ],
  'packages/sdk/src/adapters/langchain/ask-by-interrupt.ts': [
    {
      breaks: 'ask.frameworks',
      from: "if (question?.state !== 'waiting') return question !== null",
      to: 'if (question !== null) return true',
    },
  ],
  'packages/sdk/src/adapters/ai/govern-tools.ts': [
    { breaks: 'ask.frameworks', from: '|| (!isKnown && isAsked)) return true', to: ') return true' },
  ],
  'packages/gateway/src/mcp/governed-server.ts': [
    {
      breaks: 'ask.mcp-state',
      from: 'if (state !== null && !(state.ok && state.isOf(meant())))',
      to: 'if (state !== null && !state.ok)',
    },
    { breaks: 'ask.mcp-confirm', from: 'const mayAsk = state === null && ', to: 'const mayAsk = ' },
    { breaks: 'ask.mcp-confirm', from: 'const sent = state === null ? params : own', to: 'const sent = params' },
  ],
  'packages/gateway/src/mcp/request-state.ts': [
    { breaks: 'ask.mcp-state', from: ' || opened.expires < nowMs()', to: '' },
  ],
  'packages/sdk/src/adapters/claude/index.ts': [
    {
      breaks: 'ask.hooks',
      from: "if (verdict.verdict === 'ask' && verdict.asks === 'people') return output('deny'",
      to: "if (verdict.verdict === 'ask' && verdict.asks === 'people') return output('ask'",
    },
  ],
}
