import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect } from 'vitest'
import { root } from '../support/files/tracked-files.js'
import { proves } from '../support/proves.js'

/** An adapter is written for one major version of its framework: a new one is read before it is allowed here. */
const MAJORS = {
  ai: '7',
  'ai-6': '6',
  '@ai-sdk/openai': '4',
  langchain: '1',
  '@langchain/core': '1',
  '@langchain/langgraph': '1',
  '@langchain/openai': '1',
  '@modelcontextprotocol/client': '2',
  '@modelcontextprotocol/sdk': '1',
  '@modelcontextprotocol/server': '2',
  '@openai/agents': '0.20',
  'agents-0.19': '0.19',
  openai: '7',
  zod: '4',
} as const

const manifestOf = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
const folder = `${root}examples/frameworks`

proves('face.frameworks-apart', 'the frameworks are those the adapters were written for', () => {
  const { dependencies } = manifestOf(`${folder}/package.json`)
  expect(Object.keys(dependencies).sort()).toEqual(Object.keys(MAJORS).sort())
  for (const [name, major] of Object.entries(MAJORS)) {
    const { version } = manifestOf(`${folder}/node_modules/${name}/package.json`)
    expect(`${name} ${version}`).toMatch(new RegExp(`^${name} ${major.replace('.', '\\.')}\\.`))
    expect(dependencies[name]).toMatch(new RegExp(`${version.replaceAll('.', '\\.')}$`))
  }
})

proves('face.frameworks-apart', 'npm start brings none of them', () => {
  const fromRoot = createRequire(`${root}package.json`)
  for (const name of [
    'ai',
    'langchain',
    '@openai/agents',
    '@anthropic-ai/claude-agent-sdk',
    '@modelcontextprotocol/server',
  ]) {
    expect(() => fromRoot.resolve(`${name}/package.json`)).toThrow('Cannot find module')
  }
})
