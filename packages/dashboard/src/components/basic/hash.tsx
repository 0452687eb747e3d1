import { shortHash } from '../../text/format.js'
import { CopyButton } from './copy-button.js'

/** The first characters of a hash; the whole hash on hover and in the clipboard. */
export const Hash = ({ label, value }: { label: string; value: string }) => (
  <span className="hash" title={value}>
    {label} <code>{shortHash(value)}</code>
    <CopyButton text={value} label="" what={`hash: ${label}`} />
  </span>
)
