import type { ArgumentDifference } from '../../turn/tools.js'
import type { SessionCore } from './session-core.js'

/** Once for each tool and set of arguments: a schema does the same to every call. */
export function reportDifferences({ report, settings }: SessionCore): (difference: ArgumentDifference) => void {
  const reported = new Set<string>()
  return ({ tool, names, ran }) => {
    const key = JSON.stringify([tool, names, ran])
    if (reported.has(key)) return
    reported.add(key)
    const listed = names.join(', ')
    const detail = ran
      ? `${tool} was called with other arguments than the model gave it (${listed}), probably by a schema with defaults or ` +
        'conversions; it ran with those of the model, which were judged: apply the schema inside of the tool'
      : `${tool} did not run, because it was called with other arguments than were allowed (${listed}): ` +
        'pass those of the call, unchanged'
    report({ type: 'replay_arguments_differ', session_id: settings.sessionId, tool_name: tool, names, ran, detail })
  }
}
