import { type JsonObject, storyFileSchema } from '@countersign/protocol'
import { stringify } from 'yaml'
import { runStory } from '../backtest/run-story.js'
import { describeNote } from '../compile/compile-note.js'
import { compilePlan } from '../compile/compile-plan.js'
import type { Plan } from '../contract/plan.js'
import { guessSideEffect } from '../learn/side-effect.js'
import { contractFileName } from '../learn/write-contract.js'
import { plainText } from '../text/cut-text.js'
import type { ToolDefinition } from './read-tool-definitions.js'
import { sampleValue } from './sample-value.js'
import { suggestedRules } from './suggested-rules.js'

export interface PackFile {
  readonly file: string
  readonly text: string
}

/**
 * A first pack of contracts for tools: what their definitions say, and as comments what an owner may want to add. The
 * stories beside it come as expected. The files name their schemas, which lie beside them, for editors.
 */
export function starterPack(
  tools: readonly ToolDefinition[],
): { readonly ok: true; readonly files: readonly PackFile[] } | { readonly ok: false; readonly problems: string[] } {
  const names = new Set<string>()
  const contracts = tools.map((tool): PackFile => {
    const file = freeName(contractFileName(tool.name), names)
    const text = contractText(tool, tool.schema)
    const compiled = compilePlan({ contracts: [{ file, text }] })
    if (compiled.ok || tool.schema === null) return { file, text }
    return { file, text: contractText(tool, null, compiled.errors[0]?.message) }
  })
  const session = { file: 'session.yaml', text: SESSION }
  const result = compilePlan({ contracts, session })
  if (!result.ok) return { ok: false, problems: result.errors.map(describeNote) }
  return { ok: true, files: [...contracts, session, { file: 'tools.test.yaml', text: storyText(tools, result.plan) }] }
}

const hint = (name: string) => `# yaml-language-server: $schema=.${name}.schema.json\n`

const SESSION = `${hint('session')}# Rules for a whole session, whichever tool is called.
# The agent that these contracts are for:
# agent: support
session_limits:
  max_tool_calls: 100
  loop_detection: { window: 10, threshold: 3 }
# Limits over all sessions, which the server keeps: so many calls a day for each value of an argument, for example.
# shared_limits: [{ name: per_customer, tool: TOOL, per: { argument: $.ARGUMENT }, max_calls: 3, window: 24h }]
# What tools without a \`gate\` may do, by side effect: allow, block, or checkpoint, which asks a person first.
risk_defaults:
  read: allow
  egress_read: allow
  write: allow
  destructive: checkpoint
  admin: checkpoint
  financial: checkpoint
`

const ASKING: ReadonlySet<string> = new Set(['destructive', 'admin', 'financial'])
const effectOf = ({ name, sideEffect, byProvider }: ToolDefinition) =>
  sideEffect ?? (byProvider ? 'egress_read' : guessSideEffect(name))

function contractText(tool: ToolDefinition, schema: JsonObject | null, problem?: string): string {
  const effect = effectOf(tool)
  const from = tool.sideEffect === null ? 'Guessed from the name' : 'As its server declares it'
  const description = tool.description === null ? {} : { description: tool.description }
  return [
    hint('contract'),
    stringify({ tool: tool.name, ...description }, WIDTH),
    ...(tool.byProvider
      ? ['# The provider runs this tool before anybody is asked. To keep it out of requests: gate: block\n']
      : []),
    `# ${from}: check it. One of read, egress_read, write, destructive, admin, financial.\n`,
    stringify({ side_effect: effect }),
    ...(ASKING.has(effect) ? ['# A person is asked before it runs (session.yaml). To let it run: gate: allow\n'] : []),
    ...(schema === null
      ? [`# Its arguments are not checked yet: ${oneLine(problem ?? 'the definition describes none')}.\n`]
      : ['# From its definition.\n', stringify({ arguments: closed(schema) }, WIDTH)]),
    ...suggestedRules(tool.name, effect, schema),
  ].join('')
}

const WIDTH = { lineWidth: 120 }
const oneLine = (text: string): string => plainText(text.replaceAll(/\s+/g, ' '), 100)

/** Refuses arguments that a tool does not list, unless its schema is one that this would change otherwise. */
function closed({ $schema: _, ...schema }: JsonObject): JsonObject {
  const lists = schema.type === 'object' && schema.properties !== undefined
  const isOpen = OTHER_WAYS.every((keyword) => schema[keyword] === undefined)
  return lists && isOpen ? { ...schema, additionalProperties: false } : schema
}

const OTHER_WAYS = [
  'additionalProperties',
  'unevaluatedProperties',
  'patternProperties',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  '$ref',
]

/** Two tools may differ only in letters that files do not have, or in case. */
function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted
  for (let count = 2; taken.has(name.toLowerCase()); count++) name = wanted.replace(/\.yaml$/, `-${count}.yaml`)
  taken.add(name.toLowerCase())
  return name
}

/** Stories that come as expected now; they are to be changed with the rules. */
function storyText(tools: readonly ToolDefinition[], plan: Plan): string {
  const steps: object[] = []
  for (const tool of tools) {
    if (steps.length === MAX_STEPS) break
    const step = {
      call: tool.name,
      with: tool.schema === null ? {} : sampleValue(tool.schema),
      expect: ASKING.has(effectOf(tool)) ? 'ask' : 'allow',
    }
    if (!tool.byProvider && holds({ name: 'one', steps: [step] }, plan)) steps.push(step)
  }
  const unknown = { name: 'a tool without a contract', steps: [unmatched(tools)] }
  const known = { name: 'the tools are called as their definitions say', steps }
  const stories = steps.length > 0 && holds(known, plan) ? [known, unknown] : [unknown]
  return `${hint('test')}# Run with: countersign test FOLDER\n${stringify({ stories }, WIDTH)}`
}

const MAX_STEPS = 20

function holds(story: object, plan: Plan): boolean {
  const read = storyFileSchema.safeParse({ stories: [story] })
  return read.success && read.data.stories.every((each) => runStory(each, plan).length === 0)
}

function unmatched(tools: readonly ToolDefinition[]): object {
  let call = 'unknown_tool'
  while (tools.some(({ name }) => name === call)) call = `another_${call}`
  return { call, expect: 'block', reason: 'unmatched_tool_blocked' }
}
