import type { AuditEntry } from '@countersign/protocol'
import { csvOf } from '../../text/csv.js'

const HEAD = ['time', 'action', 'who', 'signed_in_by', 'key_name', 'key_prefix', 'ip', 'subject', 'detail']

/** The entries as the API names their fields, so that a filter of the page and one of a spreadsheet read alike. */
export const auditCsv = (entries: readonly AuditEntry[]): string =>
  csvOf([
    HEAD,
    ...entries.map(({ at, action, actor, signed_in_by, key, ip, subject, detail }) =>
      [at, action, actor, signed_in_by, key?.name, key?.prefix, ip, subject, detail].map((value) => value ?? ''),
    ),
  ])
