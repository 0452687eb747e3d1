import { stringify } from 'yaml'
import type { Draft } from './draft.js'

/** A learned contract as a readable file, with what a reviewer should know at the top. */
export function writeContract(draft: Draft): { file: string; text: string } {
  const { contract } = draft
  return {
    file: fileOf(contract.tool),
    text: `${describeDraft(draft)
      .map((line) => `# ${line}\n`)
      .join('')}${stringify(contract, { lineWidth: 120 })}`,
  }
}

/** Tool names come from programs and may be anything, even the name of a file that is not a contract. */
function fileOf(tool: string): string {
  const name = tool.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 120) || '_'
  return `contracts/${RESERVED.has(name.toLowerCase()) ? `${name}-tool` : name}.yaml`
}

const RESERVED: ReadonlySet<string> = new Set(['session', 'workflow'])

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
      ? [`In 19 of 20 cases it wrongly stops at most ${percent(falseBlockBound)} of the next sessions that use it.`]
      : ['Never called: written from its name and schema alone.']),
    ...(shortened ? ['Left out: what was learned of its arguments, with which the plan would not compile.'] : []),
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
    ...openings.map((opening) => `Opens free text: ${opening}.`),
    ...wouldBlock.map((origin) => `Seen too seldom to allow: ${origin}.`),
    ...suggestions.map(
      ({ rule, seen, falseBlockBound: bound }) =>
        `Held ${seen} times (wrong at most ${percent(bound)}): ${JSON.stringify(rule)}.`,
    ),
  ].map((line) => line.replaceAll(/[\r\n]+/g, ' '))
}

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
