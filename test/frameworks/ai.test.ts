import { proves } from '../support/proves.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { aiFaces } from './ai-face.js'
import { tellCases } from './tell-cases.js'

const { runtime } = await withRuntime()

for (const face of aiFaces) tellCases(face, runtime, (...story) => proves('face.ai', ...story))
