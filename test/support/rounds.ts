/** How often a race is run: short in CI, long with COUNTERSIGN_TEST_ROUNDS=long (npm run test:long). */
export const rounds = (short: number, long: number): number =>
  process.env.COUNTERSIGN_TEST_ROUNDS === 'long' ? long : short

/** Time for a test that runs `rounds`: as much as both machines and rounds need. */
export const PATIENCE_MS = process.env.COUNTERSIGN_TEST_ROUNDS === 'long' ? 3_600_000 : 300_000

/** What chance starts from; printed, so that a run can be repeated. */
export function testSeed(): number {
  const seed = Number(process.env.COUNTERSIGN_TEST_SEED ?? Date.now() % 2 ** 31)
  console.log(`seed ${seed}: COUNTERSIGN_TEST_SEED=${seed} repeats this run`)
  return seed
}
