import { type WorkflowDefinition, workflowDefinitionSchema } from '@countersign/protocol'
import { rootRoles } from '../../contract/workflow-roles.js'
import { type ContractSource, type ReadSource, readSource } from '../read-source.js'
import { type CompileNote, inOrder, writePlace } from '../report/compile-note.js'
import type { Problem } from '../report/problem.js'
import { shapeNotes } from '../shape-notes.js'
import { workflowProblems } from './workflow-problems.js'

/** The workflow definition with its warnings, or every error found. */
export type WorkflowCompilation =
  | { readonly ok: true; readonly definition: WorkflowDefinition; readonly warnings: CompileNote[] }
  | { readonly ok: false; readonly errors: CompileNote[] }

/** Compiles workflow.yaml, or reports everything that is wrong with it. */
export function compileWorkflow(source: ContractSource): WorkflowCompilation {
  const reading = readSource(source)
  if (!reading.ok) return { ok: false, errors: reading.notes }
  const shape = workflowDefinitionSchema.safeParse(reading.source.value)
  if (!shape.success) {
    const errors = shapeNotes(shape.error.issues, reading.source, workflowDefinitionSchema)
    return { ok: false, errors: inOrder(errors) }
  }
  const toNotes = (problems: Problem[]) => inOrder(problems.map((problem) => noteOf(problem, reading.source)))
  const errors = toNotes(workflowProblems(shape.data))
  if (errors.length > 0) return { ok: false, errors }
  return { ok: true, definition: shape.data, warnings: toNotes(unreachableRoles(shape.data)) }
}

function unreachableRoles(definition: WorkflowDefinition): Problem[] {
  const reached = new Set(rootRoles(definition))
  for (const role of reached) {
    for (const { from, to } of definition.handoffs ?? []) if (from === role) reached.add(to)
  }
  return Object.keys(definition.roles)
    .filter((role) => !reached.has(role))
    .map((role) => ({
      path: ['roles', role],
      message: `no handoff leads from a root role to "${role}", so no session can take it`,
      fix: 'add the handoff, or mark the role with `root: true`',
    }))
}

const noteOf = ({ path, message, fix }: Problem, source: ReadSource): CompileNote => ({
  file: source.file,
  line: source.lineAt(path),
  path: writePlace(path),
  message,
  fix,
})
