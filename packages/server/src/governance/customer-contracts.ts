import type { CompiledPack } from '../context/tasks.js'
import type { CustomerContract } from '../store/captures/learned-tools.js'
import type { PlanFile } from '../store/governance/governance-plans.js'

/** The contracts of a pack that a person wrote: all that do not say that they were inferred. */
export function customerContracts(
  files: readonly PlanFile[],
  { contractFiles }: Pick<CompiledPack, 'contractFiles'>,
): CustomerContract[] {
  const texts = new Map(files.map(({ file, text }) => [file, text]))
  return contractFiles.flatMap(([toolName, file]) => {
    const text = texts.get(file)
    return text === undefined || isInferred(text) ? [] : [{ toolName, file, text }]
  })
}

/** As `source: inferred` stands in a line of YAML or JSON. Within one line alone: blanks are many where lines are. */
const INFERRED = /((?:^|[{,])[ \t]*["']?source["']?[ \t]*:[ \t]*["']?)inferred\b/
const COMMENT = /^[ \t]*#/

const saysInferred = (line: string): boolean => INFERRED.test(line) && !COMMENT.test(line)

const isInferred = (text: string): boolean => text.split('\n').some(saysInferred)

/** An edited file is its editor's from now on, whatever it says. */
export function asCustomer({ file, text }: PlanFile): PlanFile {
  const lines = text.split('\n')
  const at = lines.findIndex(saysInferred)
  if (at >= 0) lines[at] = (lines[at] as string).replace(INFERRED, '$1customer')
  return { file, text: lines.join('\n') }
}
