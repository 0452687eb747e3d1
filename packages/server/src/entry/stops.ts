import { ROUTES, type Route, type RouteName } from '@countersign/protocol'

/** Whether a route stops something, for programs or for people: nothing else that a tenant sends keeps it out. */
export const isStop = (name: string): boolean =>
  Object.hasOwn(ROUTES, name) && (ROUTES[name as RouteName] as Route).throttle === 'stop'
