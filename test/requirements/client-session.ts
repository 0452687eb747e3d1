import type { Fact } from './fact.js'

export const clientSession = [
  {
    id: 'session.client',
    behaviour: 'client answers like the original client and governs the calls made through it',
    state: 'built',
  },
  {
    id: 'session.flush',
    behaviour: 'flush() sends the buffered captures to the server',
    state: 'built',
  },
  {
    id: 'session.restore',
    behaviour: 'restore() releases the wrapper and ends the session',
    state: 'built',
  },
  {
    id: 'session.kill',
    behaviour: 'kill() stops the session at once',
    state: 'built',
  },
  {
    id: 'session.add-label',
    behaviour: 'addLabel() adds a label that stays',
    state: 'built',
  },
  {
    id: 'session.get-state',
    behaviour: 'getState() returns the state snapshot',
    state: 'built',
  },
  {
    id: 'session.get-health',
    behaviour: 'getHealth() returns the health snapshot',
    state: 'built',
  },
  {
    id: 'session.get-last-narrowing',
    behaviour: 'getLastNarrowing() returns the latest narrowing',
    state: 'built',
  },
  {
    id: 'session.get-last-shadow-delta',
    behaviour: 'getLastShadowDelta() returns what shadow mode would have done',
    state: 'built',
  },
  {
    id: 'session.get-last-shadow-delta.shadow-only',
    behaviour: 'getLastShadowDelta() has nothing to return outside shadow mode',
    state: 'built',
  },
  {
    id: 'session.get-last-trace',
    behaviour: 'getLastTrace() returns how the latest call was judged',
    state: 'built',
  },
  {
    id: 'session.tools',
    behaviour: 'tools holds the wrapped executors when the option was given',
    state: 'built',
  },
  {
    id: 'session.tools.absent',
    behaviour: 'tools is absent when the option was not given',
    state: 'built',
  },
  {
    id: 'session.narrow',
    behaviour: 'narrow() restricts the session to the listed tools',
    state: 'built',
  },
  {
    id: 'session.widen',
    behaviour: 'widen() takes the manual restriction away',
    state: 'built',
  },
  {
    id: 'session.get-workflow-state',
    behaviour: "getWorkflowState() resolves to the workflow's state",
    state: 'built',
  },
  {
    id: 'session.handoff',
    behaviour: 'handoff() offers a handoff and resolves to it',
    state: 'built',
  },
] as const satisfies readonly Fact[]
