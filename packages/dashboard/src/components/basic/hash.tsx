import { shortHash } from '../../text/format.js'
import { CopyButton } from './copy-button.js'

/** A hash by its first characters; the whole is on hover and in the clipboard. */
export const Hash = ({ label, value }: { label: string; value: string }) => (
  <span className="hash" title={value}>
    {label} <code>{shortHash(value)}</code>
    <CopyButton text={value} label="" what={`hash: ${label}`} />
  </span>
)
