import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import { snakeJson } from '../../terminal/snake-json.js'
import { backup } from './backup.js'

proves('cli.consistent', 'a backup that exists is not overwritten unasked', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-backup-'))
  const file = join(folder, 'all.gz')
  writeFileSync(file, 'the only one')
  const terminal = { print: () => {}, note: () => {} }
  await expect(backup.run([file], terminal)).rejects.toThrow('--overwrite')
  rmSync(folder, { recursive: true })
})

proves('cli.consistent', 'JSON is written in snake_case at every depth', () => {
  const at = new Date(0)
  expect(JSON.parse(snakeJson([{ tenantId: 't', keys: [{ lastUsedAt: at }] }]))).toEqual([
    { tenant_id: 't', keys: [{ last_used_at: at.toISOString() }] },
  ])
})
