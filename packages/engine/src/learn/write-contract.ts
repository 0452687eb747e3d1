import type { SessionDefinition } from '@countersign/protocol'
import { stringify } from 'yaml'
import type { Draft } from './draft.js'

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
  confidence,
  samples,
  falseBlockBound,
  openings,
  wouldBlock,
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
    ...draftNotes({ openings, wouldBlock, suggestions }),
  ].map((line) => line.replaceAll(/[\r\n]+/g, ' '))
}

/** What a reviewer should look at before approving. */
export function draftNotes({
  openings,
  wouldBlock,
  suggestions,
}: Pick<Draft, 'openings' | 'wouldBlock' | 'suggestions'>): string[] {
  return [
    ...openings.map((opening) => `Trusts free text: ${opening}.`),
    ...wouldBlock.map((origin) => `Seen too rarely to allow: ${origin}.`),
    ...suggestions.map(
      ({ rule, seen, falseBlockBound: bound }) =>
        `Always held, ${seen} times (at most ${percent(bound)} wrong blocks): ${JSON.stringify(rule)}.`,
    ),
  ].map((line) => line.replaceAll(/[\r\n]+/g, ' '))
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`

/** A learned session.yaml, with what a reviewer should know at the top. */
export const writeSession = (session: SessionDefinition, remarks: readonly string[]): string =>
  `${remarks.map((line) => `# ${line.replaceAll(/[\r\n]+/g, ' ')}\n`).join('')}${stringify(session, { lineWidth: 120 })}`
