import { proves } from '../support/proves.js'
import { withRuntime } from '../support/runtime/with-runtime.js'
import { openaiAgentsFace } from './openai-agents-face.js'
import { tellCases } from './tell-cases.js'

const { runtime } = await withRuntime()

tellCases(openaiAgentsFace, runtime, (...story) => proves('face.openai-agents', ...story))
