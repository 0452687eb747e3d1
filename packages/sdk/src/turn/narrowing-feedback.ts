import { NARROWING_REASONS, type NarrowedTool, RESTRICTED } from '@countersign/protocol'
import { quoteName } from '../base/quote-name.js'

const SHOWN_TOOLS = 20

/** The system text that tells the model which tools it does not have, and why. A policy stays hidden. */
export function narrowingText(removed: readonly NarrowedTool[]): string {
  const lines = removed
    .slice(0, SHOWN_TOOLS)
    .map(
      ({ tool, reason }) =>
        `- ${quoteName(tool)}: ${reason === 'policy_denied' ? RESTRICTED : `${reason} (${NARROWING_REASONS[reason]})`}`,
    )
  if (removed.length > SHOWN_TOOLS) lines.push(`- and ${removed.length - SHOWN_TOOLS} more`)
  return `These tools are not available in this step:\n${lines.join('\n')}`
}
