import { defineConfig } from 'vitest/config'
import { alias } from '../../vitest.config.js'
import { root } from '../support/files/tracked-files.js'

/** npm run test:cluster. Not part of npm test: it makes network namespaces and needs programs of the system. */
export default defineConfig({
  root,
  resolve: { alias },
  test: {
    include: ['test/cluster/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 7_200_000,
    hookTimeout: 600_000,
  },
})
