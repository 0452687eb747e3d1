import * as cedar from '@cedar-policy/cedar-wasm/nodejs'
import { type CedarModule, type CedarRequest, createPolicyEvaluator } from '@countersign/engine'
import { expect, test } from 'vitest'
import { POLICY_EXAMPLES, policySections } from '../../scripts/reference/policies-page.js'
import { describeShared } from '../support/data/describe-shared.js'
import { readSharedJson, readSharedLines } from '../support/data/shared-data.js'
import { proves } from '../support/proves.js'

interface CedarRequestCase {
  description: string
  principal: CedarRequest['principal']
  action: CedarRequest['action']
  resource: CedarRequest['resource']
  context: CedarRequest['context']
  decision: 'allow' | 'deny'
  reason: string[]
  errors: string[]
  validateRequest?: boolean
}

interface CedarCase {
  name: string
  requests: CedarRequestCase[]
  policies_text: string
  entities_text: string
  schema_text: string
}

/**
 * The suites have entities, hierarchies and schemas that no tool call has, so their requests enter the adapter where
 * it speaks Cedar (`authorize`), below the conversion of arguments. The schema, which only the suites have, is added
 * to what the adapter sends.
 */
function withSchema(schema: string, validateRequest: boolean): CedarModule {
  cedar.preparseSchema('suite', schema)
  return {
    ...cedar,
    statefulIsAuthorized: (call) =>
      cedar.statefulIsAuthorized({ ...call, preparsedSchemaName: 'suite', validateRequest }),
  }
}

/** Every request of a case: what the suite expects against what the adapter answered. */
function judge(each: CedarCase): { expected: object[]; answered: object[] } {
  const validate = each.requests.every((request) => request.validateRequest ?? true)
  const policy = createPolicyEvaluator(withSchema(each.schema_text, validate)).prepare(each.policies_text)
  const entities = JSON.parse(each.entities_text)
  const answered = each.requests.map(({ principal, action, resource, context }) => {
    const answer = policy.authorize({ principal, action, resource, context, entities })
    return {
      decision: answer.decision,
      reasons: answer.reasons.toSorted(),
      errors: answer.errors.map((error) => error.split(':')[0]).toSorted(),
    }
  })
  const expected = each.requests.map(({ decision, reason, errors }) => ({
    // Where Cedar decides although a policy erred, the adapter does not.
    decision: errors.length > 0 ? 'error' : decision,
    reasons: reason.toSorted(),
    errors: errors.toSorted(),
  }))
  return { expected, answered }
}

const HANDWRITTEN = 'conformance/cedar/handwritten.json'
const CORPUS = 'conformance/cedar/corpus-sample-500.jsonl.gz'

describeShared('Cedar, hand-written', HANDWRITTEN, () => {
  const cases = readSharedJson<CedarCase[]>(HANDWRITTEN)

  test('the suite has its 22 cases', () => expect(cases).toHaveLength(22))

  test.each(cases.map((each) => [each.name, each] as const))('%s', (_name, each) => {
    const { expected, answered } = judge(each)
    expect(answered).toEqual(expected)
  })
})

describeShared('Cedar, sampled corpus', CORPUS, () => {
  const cases = readSharedLines<CedarCase>(CORPUS)

  test('the suite has its 500 cases', () => expect(cases).toHaveLength(500))

  test('every request is decided as Cedar decides it', () => {
    for (const each of cases) {
      const { expected, answered } = judge(each)
      expect.soft(answered, each.name).toEqual(expected)
    }
  })
})

proves('policy.reference', () => {
  const policies = createPolicyEvaluator(cedar as CedarModule)
  const page = policySections().join('\n')
  for (const word of ['principal', 'action', 'resource', 'context']) expect(page).toContain(`| \`${word}\` |`)
  for (const { cedar: text, asked, decision } of POLICY_EXAMPLES) {
    expect(policies.check(text)).toEqual([])
    expect([text, policies.prepare(text).decide({ ...asked, atMs: 0 }).decision]).toEqual([text, decision])
  }
})
