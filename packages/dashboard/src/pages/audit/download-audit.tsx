import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiProblem, CallInput } from '../../api/api.js'
import { fetchAudit } from '../../api/fetch-audit.js'
import { saveFile } from '../../api/save-file.js'
import { Button } from '../../components/basic/button.js'
import { FormProblem } from '../../components/form/form-problem.js'
import { count } from '../../text/format.js'
import { auditCsv } from './audit-csv.js'

/** Everything that the filter lets through, not only the page of it that is shown. */
export function DownloadAudit({ filter }: { filter: NonNullable<CallInput<'listAudit'>['query']> }) {
  const [read, setRead] = useState(0)
  const download = useMutation<void, ApiProblem>({
    mutationFn: async () => {
      setRead(0)
      const text = auditCsv(await fetchAudit(filter, setRead))
      saveFile(`countersign-audit-${new Date().toISOString().slice(0, 10)}.csv`, new Blob([text], { type: 'text/csv' }))
    },
  })
  return (
    <>
      <Button icon="download" busy={download.isPending} onClick={() => download.mutate()}>
        {download.isPending && read > 0 ? `${count(read)} entries` : 'Download CSV'}
      </Button>
      <FormProblem problem={download.error} />
    </>
  )
}
