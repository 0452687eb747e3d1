import { type JsonObject, storyFileSchema } from '@countersign/protocol'
import { stringify } from 'yaml'
import { runStory } from '../backtest/run-story.js'
import { compilePlan } from '../compile/compile-plan.js'
import { describeNote } from '../compile/report/compile-note.js'
import type { Plan } from '../contract/plan.js'
import { ASK_UNTIL_SET, type GuessedEffect, guessSideEffect } from '../learn/side-effect.js'
import { contractFileName } from '../learn/write-contract.js'
import { plainText } from '../text/cut-text.js'
import type { ToolDefinition } from './read-tool-definitions.js'
import { sampleValue } from './sample-value.js'
import { suggestedRules } from './suggested-rules.js'

export interface PackFile {
  readonly file: string
  readonly text: string
}

/** `asks`: how many tools a person is asked about before they run. */
export type StarterPack =
  | { readonly ok: true; readonly files: readonly PackFile[]; readonly asks: number }
  | { readonly ok: false; readonly problems: string[] }

/**
 * A first pack of contracts for tools: what their definitions say, and as comments what an owner may want to add. The
 * stories beside it come as expected. The files name their schemas, which lie beside them, for editors.
 */
export function starterPack(tools: readonly ToolDefinition[]): StarterPack {
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
  const stories = { file: 'tools.test.yaml', text: storyText(tools, result.plan) }
  return { ok: true, files: [...contracts, session, stories], asks: tools.map(effectOf).filter(isAsked).length }
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
const effectOf = ({ name, sideEffect, byProvider }: ToolDefinition): GuessedEffect => {
  const declared = sideEffect ?? (byProvider ? 'egress_read' : null)
  return declared === null ? guessSideEffect(name) : { effect: declared, isKnown: true }
}

const isAsked = ({ effect, isKnown }: GuessedEffect): boolean => ASKING.has(effect) || !isKnown

function contractText(tool: ToolDefinition, schema: JsonObject | null, problem?: string): string {
  const guess = effectOf(tool)
  return [
    hint('contract'),
    stringify({ tool: tool.name, ...(tool.description !== null && { description: tool.description }) }, WIDTH),
    ...(tool.byProvider
      ? ['# The provider runs this tool before anybody is asked. To keep it out of requests: gate: block\n']
      : []),
    ...effectText(tool, guess),
    ...(schema === null
      ? [`# Its arguments are not checked yet: ${oneLine(problem ?? 'the definition describes none')}.\n`]
      : ['# From its definition.\n', stringify({ arguments: closed(schema) }, WIDTH)]),
    ...suggestedRules(tool.name, guess.effect, schema),
  ].join('')
}

const ASKS = 'A person is asked before it runs; behind countersign gateway or countersign mcp it is blocked'
const ONE_OF = 'One of read, egress_read, write, destructive, admin, financial.'

/** Of a name that says nothing a person is asked until the contract says what the tool does. */
function effectText({ sideEffect }: ToolDefinition, { effect, isKnown }: GuessedEffect): string[] {
  if (!isKnown) {
    return [
      `# Its name does not say what it does. ${ONE_OF}\n`,
      stringify({ side_effect: effect }),
      `# ${ASKS}. Once you have set the side effect, remove this:\n`,
      stringify({ checkpoint: ASK_UNTIL_SET }),
    ]
  }
  const from = sideEffect === null ? 'Guessed from the name' : 'As its server declares it'
  return [
    `# ${from}: check it. ${ONE_OF}\n`,
    stringify({ side_effect: effect }),
    ...(ASKING.has(effect) ? [`# ${ASKS} (session.yaml). To let it run: gate: allow\n`] : []),
  ]
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
      expect: isAsked(effectOf(tool)) ? 'ask' : 'allow',
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
