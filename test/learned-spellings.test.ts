import { flowOf, newTrail, sawResult, sawUser, takeColumns } from '@countersign/engine'
import { describe, expect, test } from 'vitest'
import { guessSideEffect } from '../packages/engine/src/learn/side-effect.js'
import { proves } from './support/proves.js'

const signsOf = (tool: string, user: string, results: readonly unknown[] = []) => {
  const trail = newTrail()
  sawUser(trail, user)
  for (const result of results) sawResult(trail, 'read_inbox', result)
  return flowOf(trail, { id: 'c', tool, arguments: {} }).signs
}

describe('how a tool is spelled', () => {
  const spellings = ['send_message', 'sendMessage', 'SEND_MESSAGE', 'send-message', 'mcp__team_chat__send_message']
  proves('learn.spelling', 'does not change what the user’s words are taken to name', () => {
    for (const tool of [...spellings, 'chat__send_message']) {
      expect([tool, signsOf(tool, 'Send Ann a message')?.mandate]).toEqual([tool, 0])
      expect([tool, signsOf(tool, 'Tell Ann')?.mandate]).toEqual([tool, 1])
      expect([tool, signsOf(tool, 'What is new?')?.mandate]).toEqual([tool, 2])
    }
    // A tool that is called as people call the deed is named by their other words for it too.
    expect(signsOf('book_hotel', 'Reserve a room for us')?.mandate).toBe(0)
    expect(signsOf('remove_file', 'Delete the document')?.mandate).toBe(0)
    expect(signsOf('remove_file', 'Read the document')?.mandate).toBe(1)
  })

  test('does not change what it is taken to do', () => {
    expect(guessSideEffect('mcp__files__read_file').effect).toBe('read')
    expect(guessSideEffect('files__delete_file').effect).toBe('destructive')
    expect(guessSideEffect('mcp__files__store').effect).toBe('write')
    expect(guessSideEffect('mcp__files').effect).toBe('write')
  })
})

describe('the format of a result', () => {
  const rows = [
    { name: 'Ann', note: "It's “fine”\nas a whole" },
    { name: 'Bo', note: 'none' },
  ]
  const json = JSON.stringify(rows)
  const formats: Record<string, unknown> = {
    'as it is': rows,
    JSON: json,
    YAML: '- name: Ann\n  note: "It\'s “fine”\\nas a whole"\n- name: Bo\n  note: none\n',
    Python: String.raw`[{'name': 'Ann', 'note': 'It\'s “fine”\nas a whole'}, {'name': 'Bo', 'note': 'none'}]`,
    'JSON in lines': rows.map((row) => JSON.stringify(row)).join('\n'),
    'a code block': `\`\`\`json\n${json}\n\`\`\``,
    'the content of an MCP server': { content: [{ type: 'text', text: json }] },
    'its text': JSON.stringify({ content: [{ type: 'text', text: json }], isError: false }),
    'blocks of content': [{ type: 'text', text: json }],
  }
  proves('learn.formats', 'does not change what is seen in it', () => {
    for (const [format, result] of Object.entries(formats)) {
      const trail = newTrail()
      sawResult(trail, 'list', result)
      const columns = takeColumns(trail).map(({ path, place, holds }) => [path, place, holds])
      expect([format, columns]).toEqual([
        format,
        [
          ['$[*].name', 'cell', ['name']],
          ['$[*].note', 'cell', ['name', 'prose']],
        ],
      ])
      const { leaves } = flowOf(trail, { id: 'c', tool: 't', arguments: { to: 'Bo' } })
      expect([format, leaves[0]?.sources]).toMatchObject([format, [{ seen: 'cell', path: '$[*].name' }]])
    }
  })

  const pathsIn = (result: unknown) => {
    const trail = newTrail()
    sawResult(trail, 'list', result)
    return takeColumns(trail).map(({ path }) => path)
  }
  test('a table has its columns, and is free text once a row has another number of cells', () => {
    const table = '| name | note |\n|---|:--|\n| Ann | a \\| b |\n| Bo | It was fine, and so were we. |'
    expect(pathsIn(table)).toEqual(['$[*].name', '$[*].note'])
    expect(pathsIn(table.replace('| Bo |', '| Bo | d |'))).toEqual(['$'])
    expect(pathsIn(table.replace('|---|:--|\n', ''))).toEqual(['$'])
  })

  test('text that only begins like one stays free text', () => {
    const texts = [
      "{'a': 'b'} and so on, which is what I wanted to say.",
      "[it is what it is, isn't it? Yes, it is.",
      '{"a": 1}\nThat was the answer, and there is no other one.',
      '```\nThis is no data, but a text in a block of code.\n```',
      'Look:\n```json\n{"a": 1}\n```\nThat was it, and there is no more.',
    ]
    for (const text of texts) expect([text, pathsIn(text)]).toEqual([text, ['$']])
    expect(pathsIn({ content: [{ type: 'text', text: 'a' }, { type: 'image' }] })).toContain('$.content[*].type')
  })
})

describe('orders in a long text', () => {
  const page = 'The council met and talked about the roads, and it was decided that they are good as they are. '.repeat(
    20,
  )
  const spread = ['Please vote.', 'It is important.', 'Do not park here.', 'Trains run instead.', 'You should come.']
  proves('learn.passages', 'count by passage: those that stand far apart are not one instruction', () => {
    const apart = spread.map((order) => `${order} ${page}`).join('')
    const together = `${page}${spread.join(' ')} ${page}`
    expect(signsOf('send_message', '', [apart])?.imperative).toBe(1)
    expect(signsOf('send_message', '', [together])?.imperative).toBe(5)
    expect(signsOf('send_message', '', [spread.join(' ')])?.imperative).toBe(5)
  })
})
