import type { PlanFile } from '../store/governance-plans.js'
import type { CustomerContract } from '../store/learned-tools.js'
import type { CompiledPack } from './read-pack.js'

/** The contracts of a pack that a person wrote: all that do not say that they were inferred. */
export function customerContracts(files: readonly PlanFile[], pack: CompiledPack): CustomerContract[] {
  const texts = new Map(files.map(({ file, text }) => [file, text]))
  return [...pack.contractFiles].flatMap(([toolName, file]) => {
    const text = texts.get(file)
    return text === undefined || isInferred(text) ? [] : [{ toolName, file, text }]
  })
}

/** As `source: inferred` stands at the top level of YAML or JSON. */
const isInferred = (text: string): boolean => /^\s*["']?source["']?:\s*["']?inferred\b/m.test(text)

/** An edited file is its editor's from now on, whatever it says. */
export const asCustomer = ({ file, text }: PlanFile): PlanFile => ({
  file,
  text: text.replace(/^(\s*["']?source["']?:\s*["']?)inferred\b/m, '$1customer'),
})
