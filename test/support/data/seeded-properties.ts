import fc from 'fast-check'
import { SEED } from './rounds.js'

/** Before each file of unit tests: properties that name no seed of their own start from that of the run. */
fc.configureGlobal({ seed: SEED })
