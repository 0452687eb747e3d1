import type { RequirementId } from '../requirements.js'
import { adapterSabotages } from './adapters.js'
import { dashboardSabotages } from './dashboard.js'
import { engineSabotages } from './engine.js'
import { gatewaySabotages } from './gateway.js'
import { guaranteeSabotages } from './guarantees.js'
import { learnSabotages } from './learn.js'
import { principalSabotages } from './principals.js'
import { protocolSabotages } from './protocol.js'
import { askingSabotages, questionSabotages } from './questions.js'
import { ruleSabotages } from './rules.js'
import { sdkSabotages } from './sdk.js'
import { serverSabotages } from './server.js'
import { accountSabotages } from './server-accounts.js'
import { archiveSabotages } from './server-archives.js'
import { peopleSabotages } from './server-people.js'
import { wireSabotages } from './server-wire.js'
import { sessionSabotages } from './session.js'

/** A small, plausible bug that breaks a requirement: `from` stands once in the file and becomes `to`. */
export interface Bug {
  readonly breaks: RequirementId
  readonly from: string
  readonly to: string
}

/** Bugs by the file that they are in. */
export type Bugs = Readonly<Record<string, readonly Bug[]>>

export interface Sabotage extends Bug {
  readonly file: string
}

/** The tests that cite `breaks` must fail with the bug. `npm run sabotage` shows that they do. */
export const SABOTAGES: readonly Sabotage[] = [
  protocolSabotages,
  engineSabotages,
  learnSabotages,
  ruleSabotages,
  sdkSabotages,
  sessionSabotages,
  adapterSabotages,
  gatewaySabotages,
  askingSabotages,
  serverSabotages,
  accountSabotages,
  peopleSabotages,
  questionSabotages,
  principalSabotages,
  archiveSabotages,
  wireSabotages,
  guaranteeSabotages,
  dashboardSabotages,
].flatMap((bugs: Bugs) => Object.entries(bugs).flatMap(([file, rows]) => rows.map((row) => ({ ...row, file }))))
