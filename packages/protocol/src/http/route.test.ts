import { expect, test } from 'vitest'
import { pathOf, pathTemplate } from './route.js'

const route = { path: '/workflows/:workflow_id/handoffs/:handoff_id' }

test('pathOf fills in every parameter, encoded', () => {
  expect(pathOf(route, { workflow_id: 'a/b c', handoff_id: '$&' })).toBe('/workflows/a%2Fb%20c/handoffs/%24%26')
  expect(pathOf({ path: '/runs' })).toBe('/runs')
})

test('pathOf refuses to leave a parameter out', () => {
  expect(() => pathOf(route, { workflow_id: 'w' })).toThrow('needs the parameter handoff_id')
})

test('pathTemplate writes parameters as OpenAPI does', () => {
  expect(pathTemplate(route)).toBe('/workflows/{workflow_id}/handoffs/{handoff_id}')
})
