import { vi } from 'vitest'
import { runCommand as run } from '../../../packages/cli/src/run-command.js'
import { createTerminal } from '../../../packages/cli/src/terminal/create-terminal.js'

/** Runs `countersign ARGS` to its end in this process: a process of its own takes a second to load. */
export async function runCommand(
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; output: string }> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  let output = ''
  const sink = { write: (text: string) => (output += text) }
  try {
    return { code: await run(args, createTerminal(sink, sink)), output }
  } finally {
    vi.unstubAllEnvs()
  }
}
