import type { Facts } from './facts.js'

export const clientSession = {
  'session.client': 'client answers like the original client and governs the calls made through it',
  'session.flush': 'flush() sends the buffered captures to the server',
  'session.restore': 'restore() releases the wrapper and ends the session',
  'session.kill': 'kill() stops the session at once',
  'session.add-label': 'addLabel() adds a label that stays',
  'session.get-state': 'getState() returns the state snapshot',
  'session.get-health': 'getHealth() returns the health snapshot',
  'session.get-last-narrowing': 'getLastNarrowing() returns the latest narrowing',
  'session.get-last-shadow-delta': 'getLastShadowDelta() returns what shadow mode would have done',
  'session.get-last-shadow-delta.shadow-only': 'getLastShadowDelta() has nothing to return outside shadow mode',
  'session.get-last-trace': 'getLastTrace() returns how the latest call was judged',
  'session.tools': 'tools holds the wrapped executors when the option was given',
  'session.tools.absent': 'tools is absent when the option was not given',
  'session.narrow': 'narrow() restricts the session to the listed tools',
  'session.widen': 'widen() takes the manual restriction away',
  'session.get-workflow-state': "getWorkflowState() resolves to the workflow's state",
  'session.handoff': 'handoff() offers a handoff and resolves to it',
} satisfies Facts
