/** How often a race is run: short in CI, long with COUNTERSIGN_TEST_ROUNDS=long (npm run test:long). */
export const rounds = (short: number, long: number): number =>
  process.env.COUNTERSIGN_TEST_ROUNDS === 'long' ? long : short

/** Time for a test that runs `rounds`: as much as both machines and rounds need. */
export const PATIENCE_MS = process.env.COUNTERSIGN_TEST_ROUNDS === 'long' ? 3_600_000 : 600_000

/**
 * What chance starts from. The same in every run of CI, which is to tell of a change and not of its luck; another one each
 * time in long rounds, which look for what nobody has thought of.
 */
export const SEED = Number(process.env.COUNTERSIGN_TEST_SEED ?? rounds(20_260_101, Date.now() % 2 ** 31))

/** Printed, so that a run can be repeated. */
export function testSeed(): number {
  console.log(`seed ${SEED}: COUNTERSIGN_TEST_SEED=${SEED} repeats this run`)
  return SEED
}
