import { afterAll } from 'vitest'
import { type Agent, startAgent } from './agent.js'
import { type Runtime, startRuntime } from './runtime.js'

/** A program with its provider, and a service that can govern it, for the tests of one file. */
export async function startAgentAndRuntime(): Promise<{ readonly agent: Agent; readonly runtime: Runtime }> {
  const agent = await startAgent()
  const runtime = await startRuntime()
  // The agent's sessions end while there is still a service to tell.
  afterAll(async () => {
    await agent.close()
    await runtime.close()
  })
  return { agent, runtime }
}
