import { proves } from '../support/proves.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { langchainFace } from './langchain-face.js'
import { tellCases } from './tell-cases.js'

const { runtime } = await withRuntime()

tellCases(langchainFace, runtime, (...story) => proves('face.langchain', ...story))
