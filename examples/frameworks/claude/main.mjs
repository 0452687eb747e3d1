// An agent of the Claude Agent SDK, governed by hooks: `rm` is denied and the model reads why; `echo` runs.
// Needs the running service, COUNTERSIGN_API_KEY, and once, in this folder: npm install --no-package-lock (420 MB).
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { query } from '@anthropic-ai/claude-agent-sdk'
import { openSession } from '@countersign/sdk'
import { claudeHooks } from '@countersign/sdk/claude'
import { calls, says, scriptedModel } from '../../scripted-model.js'

const folder = mkdtempSync(join(tmpdir(), 'countersign-claude-'))
mkdirSync(join(folder, 'tmp'))
const model = await scriptedModel()
model.say(
  calls('Bash', { command: 'rm -rf tmp' }),
  calls('Bash', { command: 'echo kept > note.txt' }),
  says('I kept the folder.'),
)
const session = openSession({
  agent: 'claude-desk',
  contractsDir: fileURLToPath(new URL('contracts', import.meta.url)),
  onBlock: ({ blocked }) => console.log(`denied: ${blocked.map(({ remedy }) => remedy)}`),
})

const options = {
  hooks: claudeHooks(session),
  tools: ['Bash'],
  allowedTools: ['Bash'],
  settingSources: [],
  cwd: folder,
  // The runtime asks the scripted model, and nobody else.
  env: {
    PATH: process.env.PATH,
    HOME: folder,
    CLAUDE_CONFIG_DIR: folder,
    ANTHROPIC_BASE_URL: model.anthropicUrl,
    ANTHROPIC_API_KEY: 'not needed on loopback',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  },
}
for await (const message of query({ prompt: 'Delete the folder tmp.', options })) {
  if (message.type === 'result') console.log(message.result)
}

assert.ok(existsSync(join(folder, 'tmp')))
assert.ok(existsSync(join(folder, 'note.txt')))
assert.match(JSON.stringify(model.requests()), /only ls, cat and echo/)
assert.equal(session.getHealth().protectionLevel, 'govern')
await session.close()
await model.close()
rmSync(folder, { recursive: true, force: true })
