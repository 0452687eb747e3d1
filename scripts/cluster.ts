// npm run test:cluster [-- --rounds N]: the tests that need a cluster of PostgreSQL, on network namespaces of this machine.
// Prints why not where they cannot run. N is how often each kind of loss happens.
import { spawnSync } from 'node:child_process'
import { whyNoCluster } from '../test/cluster/patroni.js'
import { root } from '../test/support/files/tracked-files.js'

const at = process.argv.indexOf('--rounds')
const rounds = at === -1 ? '2' : (process.argv[at + 1] ?? '')
const why = whyNoCluster()
if (!/^[1-9][0-9]{0,3}$/.test(rounds)) {
  console.error('--rounds takes a number from 1 to 9999')
  process.exitCode = 2
} else if (why !== null) {
  console.log(`test:cluster cannot run here: ${why}`)
} else {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/cluster/vitest.config.ts']
  const env = { ...process.env, COUNTERSIGN_CLUSTER_ROUNDS: rounds }
  process.exitCode = spawnSync(process.execPath, vitest, { cwd: root, stdio: 'inherit', env }).status ?? 1
}
