import type { SessionDefinition } from '@countersign/protocol'
import { stringify } from 'yaml'
import type { Draft } from './draft.js'
import type { Suggestion } from './draft-suggestions.js'

/** A learned contract as a readable file, with what a reviewer should know at the top. */
export function writeContract(draft: Draft): { file: string; text: string } {
  const { contract } = draft
  return {
    file: `contracts/${contractFileName(contract.tool)}`,
    text: `${describeDraft(draft)
      .map((line) => `# ${line}\n`)
      .join('')}${stringify(contract, { lineWidth: 120 })}`,
  }
}

/**
 * Tool names come from programs and may be anything: also the name of a file that is no contract, because it is hidden
 * (`.pay`), holds stories (`pay.test`) or the rules of the session.
 */
export function contractFileName(tool: string): string {
  const name = tool.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 120) || '_'
  return `${name.startsWith('.') ? '_' : ''}${name}${NOT_A_CONTRACT.test(name) ? '-tool' : ''}.yaml`
}

const NOT_A_CONTRACT = /^(session|workflow)$|\.test$/i

/** A draft in short lines for the terminal. */
export function describeDraft({
  contract,
  confidence,
  samples,
  falseBlockBound,
  openings,
  wouldBlock,
  demoted,
  suggestions,
  shortened,
}: Draft): string[] {
  return [
    `Learned from ${samples} ${samples === 1 ? 'call' : 'calls'}: ${confidence} confidence.`,
    ...(samples > 0
      ? [`With 95 % confidence it wrongly blocks at most ${percent(falseBlockBound)} of future sessions that use it.`]
      : ['Never called: drafted from its name and schema only.']),
    ...(shortened
      ? ['Left out: what was learned about its arguments, because the plan would not compile with it.']
      : []),
    ...draftNotes({ contract, openings, wouldBlock, suggestions, ...(demoted !== undefined && { demoted }) }),
  ].map((line) => line.replaceAll(/[\r\n]+/g, ' '))
}

/** What a reviewer should look at before approving. */
export function draftNotes({
  contract,
  openings,
  wouldBlock,
  demoted = [],
  suggestions,
}: Pick<Draft, 'contract' | 'openings' | 'wouldBlock' | 'demoted' | 'suggestions'>): string[] {
  return [
    // A draft has no other checkpoint.
    ...(contract.checkpoint === undefined
      ? []
      : ['Its name does not say what it does, so a person is asked: set side_effect and remove checkpoint.']),
    ...demoted.map((rule) => `Demoted: ${rule}.`),
    ...openings.map((opening) => `Trusts free text: ${opening}.`),
    ...wouldBlock.map((origin) => `Seen too rarely to allow: ${origin}.`),
    ...suggestions.map(
      ({ rule, seen, falseBlockBound: bound }) =>
        `Always held, ${seen} times (at most ${percent(bound)} wrong blocks). To enforce it, add ${suggestedText(contract.tool, rule)}`,
    ),
  ].map((line) => line.replaceAll(/[\r\n]+/g, ' '))
}

/** A suggestion in the contract language, ready to paste: JSON is YAML. */
function suggestedText(tool: string, rule: Suggestion['rule']): string {
  if ('requires_prior_tool' in rule) return `here: preconditions: ${JSON.stringify([rule])}`
  if ('max_calls' in rule) {
    const limits = { max_calls_per_tool: { [tool]: rule.max_calls } }
    return `to session.yaml: session_limits: ${JSON.stringify(limits)}`
  }
  const { ref: path, result, path: from } = rule
  // A binding holds one value; that of a list is a matter of its source.
  if (/[*]|\.\./.test(from)) return `here: sources: ${JSON.stringify([{ path, from: [{ result, path: from }] }])}`
  const name = `of_${result}_${from}`.replaceAll(/[^A-Za-z0-9]+/g, '_').slice(0, 60)
  const binds = JSON.stringify([{ name, path: from }])
  return `here: refs: ${JSON.stringify([{ path, ref: name }])} and to the contract of ${JSON.stringify(result)}: binds: ${binds}`
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

/** A learned session.yaml, with what a reviewer should know at the top. */
export const writeSession = (session: SessionDefinition, remarks: readonly string[]): string =>
  `${remarks.map((line) => `# ${line.replaceAll(/[\r\n]+/g, ' ')}\n`).join('')}${stringify(session, { lineWidth: 120 })}`
