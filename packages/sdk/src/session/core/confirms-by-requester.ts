import type { Plan } from '@countersign/engine'
import { selfOf } from '@countersign/protocol'

/** Whether the person whom the session acts for may answer everything that a tool's rules can ask people. */
export function confirmsByRequester({ contracts, session }: Plan, tool: string): boolean {
  const checkpoints = contracts.get(tool)?.checkpoints ?? []
  const asks = [session.ask, ...checkpoints.map(({ definition }) => definition.ask)]
  return asks.every((ask) => ask === undefined || selfOf(ask) === 'confirm')
}
