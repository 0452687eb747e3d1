import { expect, test } from 'vitest'
import { compilePlan } from '../compile/compile-plan.js'
import type { Suggestion } from './draft-suggestions.js'
import { draftNotes } from './write-contract.js'

const SUGGESTED: readonly Suggestion['rule'][] = [
  { requires_prior_tool: 'find "person"' },
  { max_calls: 3 },
  { ref: '$.to', result: 'find "person"', path: '$.email' },
  { ref: '$.to', result: 'find "person"', path: '$[*].email' },
]

test.each(SUGGESTED)('%j is suggested in the contract language, and compiles where it is pasted', (rule) => {
  const draft = { contract: { tool: 'send' }, openings: [], wouldBlock: [] }
  const [note = ''] = draftNotes({ ...draft, suggestions: [{ rule, seen: 12, falseBlockBound: 0.1 }] })
  const [, here, session, other] =
    /To enforce it, add (?:here: (.*?)|to session\.yaml: (.*?))(?: and to the contract of "find \\"person\\"": (.*))?$/.exec(
      note,
    ) ?? []
  expect([here, session].filter((text) => text !== undefined)).toHaveLength(1)
  const result = compilePlan({
    contracts: [
      { file: 'send.yaml', text: `tool: send\n${here ?? ''}\n` },
      { file: 'find.yaml', text: `tool: find "person"\n${other ?? ''}\n` },
    ],
    session: { file: 'session.yaml', text: `agent: a\n${session ?? ''}\n` },
  })
  expect(result.ok ? [] : result.errors).toEqual([])
})
