import type { PolicyQuestion } from '@countersign/engine'
import { CONTEXT_ATTRIBUTES, TIME_ATTRIBUTES } from '../../packages/engine/src/contract/cedar-attributes.js'

/** What each of the four variables of a policy is. */
export const POLICY_VARIABLES = {
  principal:
    '`Principal::"<id>"`: whom the agent acts for, from the option `principal`. Its fields are attributes, such as `principal.role`; a principal that is plain text is its own id. `principal.proven` is always there, and true where a token proves who it is; then `principal.issuer` and the set `principal.groups` are, too',
  action: '`Action::"<tool>"`: the name of the tool that is called',
  resource: '`Agent::"<agent>"`: the name of the agent, empty without one',
  context: 'a record of the call, see below',
} as const

export const POLICY_CONTEXT = {
  arguments: 'the arguments of the call. Absent while the model is offered its tools, when they are not known yet',
  time: 'when the call is judged, in UTC: `hour`, `minute`, `weekday` (`"mon"` to `"sun"`), `epoch` in seconds',
} as const satisfies Record<(typeof CONTEXT_ATTRIBUTES)[number], string>

export const POLICY_VALUES = [
  ['text, true, false', 'the same'],
  ['a whole number', '`Long`: `context.arguments.amount < 100`'],
  ['another number', '`decimal` with at most 4 places: `context.arguments.amount.lessThan(decimal("99.95"))`'],
  ['an object', 'a record'],
  ['an array', 'a set: it has no order and no doubles'],
  ['null', 'left out, as if the key were not there: `context.arguments has note`'],
] as const

interface PolicyExample {
  readonly cedar: string
  readonly asked: Omit<PolicyQuestion, 'atMs'>
  readonly decision: 'allow' | 'deny' | 'error'
}

const ann = { id: 'ann', role: 'analyst' }

/** Run by a test: what the page says of each is what happens. */
export const POLICY_EXAMPLES: readonly PolicyExample[] = [
  {
    cedar: 'permit (principal, action, resource) when { principal.role == "analyst" };',
    asked: { principal: ann, tool: 'export_data', agent: 'reports', arguments: {} },
    decision: 'allow',
  },
  {
    cedar: 'permit (principal == Principal::"bob", action == Action::"export_data", resource == Agent::"reports");',
    asked: { principal: ann, tool: 'export_data', agent: 'reports', arguments: {} },
    decision: 'deny',
  },
  {
    cedar: 'permit (principal, action, resource) when { context.arguments.rows <= 1000 };',
    asked: { principal: ann, tool: 'export_data', agent: 'reports', arguments: { rows: 5_000 } },
    decision: 'deny',
  },
  {
    cedar: 'permit (principal, action, resource) when { context.arguments.rows <= 1000 };',
    asked: { principal: ann, tool: 'export_data', agent: 'reports', arguments: {} },
    decision: 'error',
  },
  {
    cedar: 'permit (principal, action, resource) when { principal has team && principal.team == "risk" };',
    asked: { principal: ann, tool: 'export_data', agent: 'reports', arguments: {} },
    decision: 'deny',
  },
  {
    cedar: 'permit (principal, action, resource) when { principal.proven && principal.groups.contains("finance") };',
    asked: { principal: 'ann', tool: 'export_data', agent: 'reports', arguments: {} },
    decision: 'deny',
  },
]

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(head), row(head.map(() => '---')).replaceAll(' ', ''), ...rows.map(row)].join('\n')
const named = (words: Readonly<Record<string, string>>) =>
  Object.entries(words).map(([name, text]) => [`\`${name}\``, text])

/** The parts of the page, in order. */
export const policySections = (): string[] => [
  'A contract, and session.yaml, can have a policy in [Cedar](https://www.cedarpolicy.com): `policy: { cedar: … }`. Both must permit a call. Nothing is permitted unless a `permit` applies and no `forbid` does.',
  table(['variable', 'what it is'], named(POLICY_VARIABLES)),
  '## context',
  table(['attribute', 'what it is'], named(POLICY_CONTEXT)),
  `\`context\` has ${CONTEXT_ATTRIBUTES.map((name) => `\`${name}\``).join(' and ')} and nothing else; \`context.time\` has ${TIME_ATTRIBUTES.map((name) => `\`${name}\``).join(', ')}; \`action\` and \`resource\` have no attributes. A policy that reads another one does not compile. Entities have no parents, so \`in\` finds only the entity itself.`,
  'A policy has at most 4,000 words, values and signs, and 64 kB with its spaces and comments; those of all tools of a plan, each text once, about 160,000. Send a long list as an attribute of the principal instead of writing it into the policy.',
  '## Values',
  table(['JSON', 'in the policy'], POLICY_VALUES),
  'A key `__entity`, `__extn` or `__expr`, and a number with more than 4 places, are errors.',
  '## When a policy fails',
  'A policy that reads what is not there, or compares what cannot be compared, has not decided. The call is blocked with `policy_denied`, like a denial, and the model is told the same. You are told the difference: the decision has the detail `policy_error`, the SDK reports `replay_policy_error`, the service counts `countersign_policy_errors_total` and logs the session and the contract, and the page of the session says it beside the call. Ask with `has` first where a value may be missing.',
  'Before the arguments are known, only a clear denial hides the tool from the model.',
  '## Examples',
  table(
    ['policy', 'principal', 'arguments', 'result'],
    POLICY_EXAMPLES.map(({ cedar, asked, decision }) => [
      `\`${cedar.replaceAll('|', '\\|')}\``,
      `\`${JSON.stringify(asked.principal)}\``,
      `\`${JSON.stringify(asked.arguments)}\``,
      decision,
    ]),
  ),
]
