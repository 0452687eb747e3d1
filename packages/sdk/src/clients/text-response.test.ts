import { expect, test } from 'vitest'
import { textResponse } from './text-response.js'

const TEXT = '{"said":"Grüße"}'
const make = () => textResponse(TEXT, { status: 201, headers: { 'content-type': 'application/json' } })

test('a response with its text at hand is read once, in any way that a response can be read', async () => {
  const ways: [name: string, read: (response: Response) => Promise<unknown>, gives: unknown][] = [
    ['text', (response) => response.text(), TEXT],
    ['json', (response) => response.json(), { said: 'Grüße' }],
    ['bytes', async (response) => Buffer.from(await response.arrayBuffer()).toString(), TEXT],
    ['sent on', (response) => new Response(response.body).text(), TEXT],
    ['a clone', (response) => response.clone().text(), TEXT],
    ['by the platform', (response) => Response.prototype.text.call(response), TEXT],
  ]
  for (const [name, read, gives] of ways) {
    const response = make()
    expect(await read(response), name).toEqual(gives)
    expect(response, name).toMatchObject({ status: 201, bodyUsed: name !== 'a clone' })
    if (name === 'a clone') expect(await response.text()).toBe(TEXT)
    else await expect(response.text(), name).rejects.toThrow(TypeError)
    expect(() => response.clone(), name).toThrow(TypeError)
  }
})

test('a response that somebody has begun to read gives no second reading', async () => {
  const response = make()
  response.body?.getReader()
  await expect(response.json()).rejects.toThrow(TypeError)
})
