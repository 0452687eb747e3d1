import { readFileSync } from 'node:fs'
import { root, trackedFiles } from './tracked-files.js'

export interface DocBlock {
  /** Page and line, for people. */
  readonly place: string
  readonly page: string
  readonly language: string
  readonly text: string
  /** From a first line such as `# contracts/pay.yaml` or `// agent.ts`; null without one. */
  readonly file: string | null
}

/** Pages whose code needs an agent framework, by its example: `test/frameworks/pages.test.ts` compiles and runs them. */
export const FRAMEWORK_PAGES: readonly string[] = ['ai-sdk', 'langchain', 'openai-agents'].map(
  (name) => `docs/guides/${name}.md`,
)

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm

/** Every fenced block of the pages that people read. */
export function docBlocks(): DocBlock[] {
  return trackedFiles()
    .filter((path) => path === 'README.md' || /^docs\/(?:[\w-]+|guides\/[\w-]+)\.md$/.test(path))
    .flatMap((page) => {
      const content = readFileSync(`${root}${page}`, 'utf8')
      return [...content.matchAll(FENCE)].map(([, language = '', text = ''], index, all) => {
        const line = content.slice(0, all[index]?.index ?? 0).split('\n').length
        return {
          place: `${page}:${line}`,
          page,
          language,
          text,
          file: /^(?:#|\/\/) ([\w./-]+\.\w+)\n/.exec(text)?.[1] ?? null,
        }
      })
    })
}
