import { expect } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import type { AuthorityFacts } from '../../authority/authority.js'
import { type HealthFacts, healthOf } from './health.js'

const authority: AuthorityFacts = {
  status: 'ACTIVE',
  lost: false,
  connection: 'none',
  degradedLocal: false,
  undeliveredReceipts: 0,
  inDoubt: 0,
  unguardedCalls: 0,
  errors: 0,
}
const local: HealthFacts = {
  mode: 'enforce',
  compatEnforcement: 'protective',
  governed: false,
  refusing: false,
  unjudged: false,
  restored: false,
  bypassed: false,
  attachment: null,
  authority,
  clusterDetected: false,
  totalSteps: 0,
  totalBlocks: 0,
  otherErrors: 0,
  shadowEvaluations: 0,
}
const governed = (facts: Partial<AuthorityFacts>): HealthFacts => ({
  ...local,
  governed: true,
  authority: { ...authority, connection: 'up', ...facts },
})
const advisory = { compatEnforcement: 'advisory' } as const
const alone = { connection: 'down', degradedLocal: true } as const

/** What `status durability protectionLevel tier authorityState` are in every state of the connection. */
const STATES: Record<string, [facts: HealthFacts, health: string]> = {
  'no server': [local, 'healthy inactive protect compat active'],
  'no server, as advice': [{ ...local, ...advisory }, 'healthy inactive monitor compat advisory'],
  'no server, in shadow': [{ ...local, mode: 'shadow' }, 'healthy inactive monitor compat advisory'],
  'not asked yet': [governed({ connection: 'untried' }), 'healthy degraded-local govern strong active'],
  'never there': [governed({ connection: 'down' }), 'degraded degraded-local govern strong active'],
  connected: [governed({}), 'healthy server govern strong active'],
  'away, so that calls are blocked': [governed({ connection: 'down' }), 'degraded degraded-local govern strong active'],
  'away, so that calls are decided here': [governed(alone), 'degraded degraded-local protect compat active'],
  'away, so that calls are advised on': [
    { ...governed(alone), ...advisory },
    'degraded degraded-local monitor compat advisory',
  ],
  'back after unguarded calls': [governed({ unguardedCalls: 2 }), 'healthy server govern strong active'],
  'connected, as advice': [{ ...governed({}), ...advisory }, 'healthy server govern strong active'],
  'receipts wait': [governed({ undeliveredReceipts: 1 }), 'degraded degraded-local govern strong active'],
  'calls in doubt': [governed({ inDoubt: 1 }), 'degraded server govern strong recovering'],
  'held by another': [governed({ lost: true }), 'inactive server govern strong inactive'],
  killed: [governed({ status: 'KILLED' }), 'inactive server govern strong killed'],
  compromised: [governed({ status: 'COMPROMISED' }), 'degraded server govern strong compromised'],
  'no plan in staging, so that calls pass': [
    { ...local, ...advisory, mode: 'log-only', unjudged: true, attachment: 'no_plan' },
    'degraded server monitor compat inactive',
  ],
  'the plan is looked up': [
    { ...local, mode: 'shadow', attachment: 'pending' },
    'healthy degraded-local monitor compat inactive',
  ],
  'a plan of the server watches': [
    { ...local, mode: 'shadow', attachment: 'attached' },
    'healthy server monitor compat advisory',
  ],
  'a plan of the server, decided by here': [
    { ...local, attachment: 'attached' },
    'healthy degraded-local protect compat active',
  ],
  'no plan, so that all is refused': [
    { ...local, ...advisory, refusing: true, attachment: 'no_plan' },
    'degraded server protect compat inactive',
  ],
  'no lookup, so that all is refused': [
    { ...local, refusing: true, attachment: 'fetch_failed' },
    'degraded degraded-local protect compat inactive',
  ],
  'too little protection, so that all is refused': [
    { ...local, mode: 'shadow', refusing: true, attachment: 'attached' },
    'degraded server protect compat inactive',
  ],
}

for (const [state, [facts, health]] of Object.entries(STATES)) {
  proves(
    ['health.one-meaning', 'health.durability', 'health.protection-level', 'health.status', 'health.tier'],
    `the health in the state: ${state}`,
    () => {
      const { status, durability, protectionLevel, tier, authorityState } = healthOf(facts)
      expect([status, durability, protectionLevel, tier, authorityState].join(' ')).toBe(health)
    },
  )
}

proves('health.unguarded-calls', 'calls without the server stay, where there is one', () => {
  expect(healthOf(governed({ unguardedCalls: 2 })).totalUnguardedCalls).toBe(2)
  expect(healthOf(local)).not.toHaveProperty('totalUnguardedCalls')
})
