import { suggestName } from '@countersign/engine'

/** What the address of a service is called elsewhere: these are not near each other as words. */
const ADDRESS = /^(api|base|runtime|server|service)?_?(url|endpoint|host)$/i

/** What is wrong with a name that is no option, and which one was meant. */
export function unknownOption(written: string, known: readonly string[], address: string): string {
  const meant = ADDRESS.test(written) ? `did you mean "${address}"?` : suggestName(written, known)
  return `is not an option: ${meant}`
}
