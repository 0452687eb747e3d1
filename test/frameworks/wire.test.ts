import { proves } from '../support/proves.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { tellCases } from './tell-cases.js'
import { fetchFace, replayFace } from './wire-faces.js'

const { runtime } = await withRuntime()

tellCases(replayFace, runtime, (...story) => proves('face.replay', ...story))
tellCases(fetchFace, runtime, (...story) => proves('face.fetch', ...story))
