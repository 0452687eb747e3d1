import { authentication } from './requirements/authentication.js'
import { backgroundWork } from './requirements/background-work.js'
import { blockReasons } from './requirements/block-reasons.js'
import { clientOptions } from './requirements/client-options.js'
import { clientSession } from './requirements/client-session.js'
import { endpoints } from './requirements/endpoints.js'
import { errors } from './requirements/errors.js'
import { events } from './requirements/events.js'
import type { Facts } from './requirements/facts.js'
import { gatewayWires } from './requirements/gateway/gateway-wires.js'
import { limits } from './requirements/limits.js'
import { observe } from './requirements/observe.js'
import { archive } from './requirements/operation/archive.js'
import { asking } from './requirements/operation/asking.js'
import { metrics } from './requirements/operation/metrics.js'
import { people } from './requirements/operation/people.js'
import { questions } from './requirements/operation/questions.js'
import { proof } from './requirements/proof.js'
import { resourcesRecords } from './requirements/resources-records.js'
import { resourcesState } from './requirements/resources-state.js'
import { resourcesValues } from './requirements/resources-values.js'
import { states } from './requirements/states.js'
import { validate } from './requirements/validate.js'
import { versioning } from './requirements/versioning.js'
import { whatPeopleSee } from './requirements/what-people-see.js'
import { whatTheServiceDoes } from './requirements/what-the-service-does.js'

/** Every fact of the specification, in its order. A test cites the rows that it proves. */
export const REQUIREMENTS = [
  ...inSection('service', whatTheServiceDoes),
  ...inSection('resources', resourcesState),
  ...inSection('resources', resourcesValues),
  ...inSection('resources', resourcesRecords),
  ...inSection('client options', clientOptions),
  ...inSection('client session', clientSession),
  ...inSection('observe', observe),
  ...inSection('validate', validate),
  ...inSection('states', states),
  ...inSection('endpoints', endpoints),
  ...inSection('authentication', authentication),
  ...inSection('events', events),
  ...inSection('errors', errors),
  ...inSection('errors', blockReasons),
  ...inSection('limits', limits),
  ...inSection('versioning', versioning),
  ...inSection('background work', backgroundWork),
  ...inSection('proof', proof),
  ...inSection('archive', archive),
  ...inSection('metrics', metrics),
  ...inSection('people', people),
  ...inSection('people', questions),
  ...inSection('people', asking),
  ...inSection('people', whatPeopleSee),
  ...inSection('gateway', gatewayWires),
]

export type RequirementId = (typeof REQUIREMENTS)[number]['id']

export interface Requirement<Id extends string = string> {
  readonly id: Id
  readonly behaviour: string
  readonly section: string
}

function inSection<Rows extends Facts>(section: string, rows: Rows): Requirement<keyof Rows & string>[] {
  return Object.entries(rows).map(([id, behaviour]) => ({ id, behaviour, section }))
}
