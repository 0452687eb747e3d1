import { BLOCK_REASONS, type BlockReason, NARROWING_REASONS, type NarrowingReason } from '@countersign/protocol'
import { sentence, words } from './format.js'

/** `argument_value_mismatch` as people read it. */
export const reasonTitle = (reason: BlockReason): string => sentence(words(reason))
export const reasonMeaning = (reason: BlockReason): string => sentence(BLOCK_REASONS[reason].meaning)
/** What the detail of a block adds to its reason, where that is more than a name; null: no more. */
export const detailMeaning = (detail: string | undefined): string | null =>
  detail === 'policy_error'
    ? 'The policy itself failed on this call, such as on an attribute that is not there: its author must mend it'
    : null
export const narrowingMeaning = (reason: NarrowingReason): string => sentence(NARROWING_REASONS[reason])
export const REASON_OPTIONS = (Object.keys(BLOCK_REASONS) as BlockReason[]).map((reason) => ({
  value: reason,
  label: reasonTitle(reason),
}))
