import { ROUTES, type Route, type RouteName } from '@countersign/protocol'

const BY_PEOPLE: ReadonlySet<string> = new Set<RouteName>(['killSessionByPerson', 'killWorkflowByPerson'])

/** Whether a route stops something, for programs or for people: nothing else that a tenant sends keeps it out. */
export const isStop = (name: string): boolean =>
  BY_PEOPLE.has(name) || (ROUTES as Readonly<Record<string, Route>>)[name]?.throttle === 'stop'
