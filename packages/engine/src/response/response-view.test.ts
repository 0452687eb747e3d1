import { describe, expect, test } from 'vitest'
import { compilePath } from '../json/json-path.js'
import { readResponse } from './read-response.js'
import { viewResponse } from './response-view.js'

const view = viewResponse(
  readResponse({
    tool_calls: [
      { id: 'a', name: 'refund', arguments: '{ "amount": 5, "to": {"arguments": "x"} }' },
      { id: 'b', name: 'log', arguments: 'not JSON' },
    ],
    content: null,
    finish_reason: 'tool_calls',
  }),
)

function path(expression: string) {
  const compiled = compilePath(expression)
  if (!compiled.ok) throw new Error(compiled.problem)
  return compiled.path
}

describe('viewResponse', () => {
  test.each([
    ['$.finish_reason', 'tool_calls'],
    ['$.content', null],
    ['$.tool_calls[0].name', 'refund'],
    ['$.tool_calls[0].arguments.amount', 5],
    ['$.tool_calls[0].arguments.to.arguments', 'x'],
    ['$.tool_calls[0].arguments', '{ "amount": 5, "to": {"arguments": "x"} }'],
    ['$.tool_calls[*].arguments', '{ "amount": 5, "to": {"arguments": "x"} }'],
    ['$.tool_calls[?@.name == "refund"].arguments.amount', 5],
    ['$..amount', 5],
    ['$.tool_calls[1].arguments', 'not JSON'],
    ['$.tool_calls[1].arguments.amount', undefined],
    ['$.tool_calls[1]', { id: 'b', name: 'log', arguments: 'not JSON' }],
    ['$.tool_calls[2]', undefined],
  ])('%s', (expression, found) => {
    expect(view.first(path(expression))).toEqual(found)
    expect(view.nodes(path(expression))[0]?.value).toEqual(found)
  })

  test('tells where each value lies', () => {
    expect(view.nodes(path('$..amount'))).toEqual([
      { path: '$.tool_calls[0].arguments.amount', location: ['tool_calls', 0, 'arguments', 'amount'], value: 5 },
    ])
  })
})
