import { proves } from '../support/proves.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { replayFace } from './replay-face.js'
import { tellCases } from './tell-cases.js'

const { runtime } = await withRuntime()

tellCases(replayFace, runtime, (...story) => proves('face.replay', ...story))
