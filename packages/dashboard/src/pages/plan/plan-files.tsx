import type { PlanDetail } from '@countersign/protocol'
import { useMay } from '../../api/use-may.js'
import { Allowed } from '../../components/basic/allowed.js'
import { Button } from '../../components/basic/button.js'
import { CodeBlock } from '../../components/basic/code-block.js'
import { Name } from '../../components/basic/text.js'
import { Panel } from '../../components/layout/page.js'
import { plainText } from '../../text/visible-text.js'
import { PlanEditor } from './plan-editor.js'

interface PlanFilesProps {
  readonly detail: PlanDetail
  readonly editing: boolean
  readonly onEditing: (editing: boolean) => void
}

/** A pack holds other files, too: session.yaml, workflow.yaml, policies. */
const isContract = (file: string) => !/(?:^|\/)(?:session|workflow)\.(?:ya?ml|json)$|\.cedar$/.test(file)

/** The contracts as files; those of a draft can be edited here. */
export function PlanFiles({ detail, editing, onEditing }: PlanFilesProps) {
  const { plan, files } = detail
  const isEditing = useMay()('editPlan') && editing
  return (
    <Panel
      title="Contracts"
      aside={
        plan.state === 'draft' && !isEditing ? (
          <Allowed to="editPlan">
            <Button kind="quiet" onClick={() => onEditing(true)}>
              Edit
            </Button>
          </Allowed>
        ) : undefined
      }
    >
      {isEditing ? (
        <PlanEditor detail={detail} onDone={() => onEditing(false)} />
      ) : (
        files.map((file, at) => (
          <details key={file.file} className="file" open={at === 0} data-part={isContract(file.file) ? '' : undefined}>
            <summary>
              <Name value={file.file} />
            </summary>
            <CodeBlock title={plainText(file.file)} code={file.text} />
          </details>
        ))
      )}
    </Panel>
  )
}
