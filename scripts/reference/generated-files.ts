import { readFileSync } from 'node:fs'
import { FILE_NAMES, fileSchema } from '@countersign/protocol'
import { compactJson } from './compact-json.js'
import { DIAGNOSTIC_MEANINGS } from './diagnostic-meanings.js'
import { type MemberDocs, withMemberDocs } from './documented-interface.js'
import { optionDocs } from './option-docs.js'
import { referencePages } from './reference-pages.js'

const diagnosticDocs: MemberDocs = new Map(
  Object.entries(DIAGNOSTIC_MEANINGS).map(([type, sentence]) => [type, [sentence]]),
)

const DOCUMENTED: readonly [file: string, name: string, docs: MemberDocs][] = [
  ['packages/sdk/src/options/replay-options.ts', 'ReplayOptions', optionDocs('replay')],
  ['packages/sdk/src/options/observe-options.ts', 'ObserveOptions', optionDocs('observe')],
  ['packages/sdk/src/options/workflow-options.ts', 'WorkflowOptions', optionDocs('workflow')],
  ['packages/sdk/src/base/diagnostics.ts', 'DiagnosticEvents', diagnosticDocs],
]

/**
 * What `npm run docs` writes: the pages of the reference, the JSON Schemas that the package publishes for editors, and
 * interfaces whose TSDoc comes from a table.
 */
export function generatedFiles(): ReadonlyMap<string, string> {
  return new Map([
    ...[...referencePages()].map(([file, text]) => [`docs/reference/${file}`, text] as const),
    ...FILE_NAMES.map(
      (name) => [`packages/protocol/schemas/${name}.schema.json`, `${compactJson(fileSchema(name))}\n`] as const,
    ),
    ...DOCUMENTED.map(([file, name, docs]) => [file, withMemberDocs(readFileSync(file, 'utf8'), name, docs)] as const),
  ])
}
