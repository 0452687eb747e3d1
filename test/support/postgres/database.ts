import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { createCitusDatabase, dropDatabase, inDatabase, onMachines, TEMPLATE } from './citus.js'
import { SABOTAGED_SQL } from './sabotaged-sql.js'

export interface TestDatabase {
  url: string
  drop(): Promise<void>
}

/** A migrated database of its own, cloned from the run's template. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const machines = inject('machines')
  const name = `test_${randomBytes(8).toString('hex')}`
  await onMachines(machines, `create database ${name} template ${TEMPLATE}`)
  if (SABOTAGED_SQL !== '') await onMachines(machines.slice(0, 1), SABOTAGED_SQL, name)
  return { url: inDatabase(inject('postgresUrl'), name), drop: () => dropDatabase(machines, name) }
}

/** An empty database, for tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const machines = inject('machines')
  const name = `empty_${randomBytes(8).toString('hex')}`
  if (machines.length > 1) await createCitusDatabase(machines, name)
  else await onMachines(machines, `create database ${name}`)
  return { url: inDatabase(inject('postgresUrl'), name), drop: () => dropDatabase(machines, name) }
}
