import type { Bugs } from './sabotages.js'

/** How sessions are moved into files. */
export const archiveSabotages: Bugs = {
  'packages/server/src/archives/unfinished-files.ts': [
    {
      breaks: 'archive.leftover-replaced',
      from: "    if (fate === 'replaced') await rm(file, { force: true })\n",
      to: '',
    },
    {
      breaks: 'archive.leftover-replaced',
      from: 'if (found === null) isReplaced = false',
      to: 'if (found === null) continue',
    },
  ],
  'packages/cli/src/api/fetch-ledger.ts': [
    { breaks: 'archive.answer', from: 'status !== 404 || isArchived', to: 'status !== 404' },
  ],
  'packages/server/src/archives/archive-sessions.ts': [
    {
      breaks: 'archive.nothing-lost',
      from: '  await onWritten?.(file, batch.sessionIds.length)\n',
      to: '  await removeRows(sql, batch, checked, name)\n  await onWritten?.(file, batch.sessionIds.length)\n',
    },
    {
      breaks: 'archive.interrupted',
      from: `  await publish(draft, file)
  await onWritten?.(file, batch.sessionIds.length)
  if (await removeRows(sql, batch, checked, \`\${folderOf(batch.tenantId)}/\${name}\`)) {
`,
      to: `  const isRemoved = await removeRows(sql, batch, checked, \`\${folderOf(batch.tenantId)}/\${name}\`)
  await publish(draft, file)
  await onWritten?.(file, batch.sessionIds.length)
  if (isRemoved) {
`,
    },
    { breaks: 'archive.unchanged-rows-only', from: '!== digest) throw', to: "=== '') throw" },
    { breaks: 'archive.two-runs', from: 'if (!(await isFileNeeded(', to: 'if ((await isFileNeeded(' },
    { breaks: 'archive.broken-stays', from: 'if (broken.length > 0) {', to: 'if (broken.length > 1_000) {' },
    {
      breaks: 'archive.changing-stays',
      from: 'if (units.length > 1) most =',
      to: 'if (units.length > 1_000) most =',
    },
  ],
  'packages/server/src/archives/next-batch.ts': [
    { breaks: 'archive.large-plans', from: 'bytes + unitBytes > BATCH.bytes', to: 'bytes + unit.bytes > BATCH.bytes' },
  ],
  'packages/server/src/archives/archived-plans.ts': [
    { breaks: 'archive.large-plans', from: 'if (characters <= mostReady) break', to: 'if (characters > 0) break' },
  ],
  'packages/server/src/process/operator.ts': [
    { breaks: 'archive.tenants-apart', from: 'if (failsForAll(error)) throw', to: 'if (error !== null) throw' },
  ],
  'packages/cli/src/commands/operator/archive.ts': [
    { breaks: 'archive.tenants-apart', from: 'return failed.length > 0 || archived', to: 'return archived' },
  ],
  'packages/server/src/store/sessions/content.ts': [
    { breaks: 'archive.erased-again', from: 'and (exists (select from erased)', to: 'and (true' },
  ],
  'packages/server/src/ledgers/still-stored.ts': [
    { breaks: 'archive.read-meanwhile', from: "throw new ApiError('NOT_FOUND')", to: 'return' },
  ],
  'packages/server/src/archives/archive-file.ts': [
    { breaks: 'archive.full-disk', from: "    await lines.return('')\n", to: '' },
    { breaks: 'archive.refused', from: " || end.sha256 !== hash.digest('hex')", to: '' },
  ],
  'packages/server/src/archives/check-archive.ts': [
    { breaks: 'archive.refused', from: 'if (row.tenant_id !== tenantId) throw', to: "if (row.tenant_id === '') throw" },
  ],
  'packages/server/src/archives/explain-archived.ts': [
    { breaks: 'archive.answer', from: "error.code !== 'NOT_FOUND'", to: "error.code !== 'BUSY'" },
  ],
  'packages/server/sql/functions/create_session.sql': [
    { breaks: 'archive.answer', from: "a.id = p_session and a.ledger = 'session'", to: 'false' },
  ],
  'packages/server/src/store/archives/archivable-sessions.ts': [
    { breaks: 'archive.round-trip', from: 'and (not ${mayGoOn(sql)} or', to: 'and (true or' },
    { breaks: 'archive.workflow-whole', from: 'having bool_and(', to: 'having bool_or(' },
  ],
  'packages/server/src/store/archives/archived-rows.ts': [
    {
      breaks: 'archive.every-table',
      from: "  { name: 'late_receipts', where: ofSessions, order: ['session_id', 'pending_call_id', 'number'] },\n",
      to: '',
    },
    {
      breaks: 'archive.signed-heads',
      from: "  { name: 'signed_heads', where: ofLedgers, order: ['ledger', 'id'] },\n",
      to: '',
    },
  ],
}
