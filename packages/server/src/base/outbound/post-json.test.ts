import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect } from 'vitest'
import { proves } from '../../../../../test/support/proves.js'
import { postJson } from './post-json.js'

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) server.close()
})
async function listen<S extends Server>(server: S): Promise<number> {
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return (server.address() as AddressInfo).port
}
const start = async (answer: RequestListener) => `http://127.0.0.1:${await listen(createServer(answer))}/in`
const post = (url: string, options = {}) =>
  postJson(url, { headers: { 'webhook-id': 'm' }, body: '{}' }, { allowLocal: true, timeoutMs: 2_000, ...options })

proves('webhook.addresses', 'a name is resolved before it is asked, and what it leads to is checked', async () => {
  let asked = 0
  const url = await start((_, response) => {
    asked++
    response.end()
  })
  expect(await post(url.replace('127.0.0.1', 'localhost'))).toBe(200)
  const secure = url.replace('http', 'https').replace('127.0.0.1', 'localhost')
  await expect(post(secure, { allowLocal: false })).rejects.toThrow('its address is not public')
  await expect(post(url, { allowLocal: false })).rejects.toThrow('it is not https')
  await expect(post('http://8.8.8.8/')).rejects.toThrow('it is not https')
  expect(asked).toBe(1)
})

proves('webhook.addresses', 'redirects, long answers and silence', async () => {
  let inside = 0
  const secret = await start((_, response) => {
    inside++
    response.end()
  })
  const moved = await start((_, response) => response.writeHead(307, { location: secret }).end())
  expect(await post(moved)).toBe(307)
  expect(inside).toBe(0)

  let written = 0
  const closed = new Promise<void>((done) => {
    void start((_, response) => {
      response.writeHead(200)
      const more = () => {
        written += 65_536
        if (written < 64 * 1_048_576 && response.write(Buffer.alloc(65_536))) setImmediate(more)
        else if (written < 64 * 1_048_576) response.once('drain', more)
      }
      response.once('close', done)
      more()
    }).then(async (url) => expect(await post(url)).toBe(200))
  })
  await closed
  // What fits into the buffers of two sockets.
  expect(written).toBeLessThan(16 * 1_048_576)

  const silent = await start(() => {})
  const began = performance.now()
  await expect(post(silent, { timeoutMs: 300 })).rejects.toThrow('it took too long')
  expect(performance.now() - began).toBeLessThan(2_000)
})

const folder = mkdtempSync(join(tmpdir(), 'countersign-tls-'))
const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(folder, name)) as [string, string]
const subject = ['-subj', '/CN=localhost', '-days', '1', '-nodes', '-x509', '-newkey', 'rsa:2048']
const isThere = spawnSync('openssl', ['req', ...subject, '-keyout', key, '-out', cert]).status === 0
if (!isThere) console.warn('openssl is not installed: no address is asked by https')

proves(
  'webhook.addresses',
  'a certificate must be of an authority that this machine knows',
  async () => {
    const bodies: string[] = []
    const port = await listen(
      createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, async (request, response) => {
        for await (const chunk of request) bodies.push(String(chunk))
        response.writeHead(202).end()
      }),
    )
    const url = `https://localhost:${port}/in`
    await expect(post(url)).rejects.toThrow('it cannot be reached (DEPTH_ZERO_SELF_SIGNED_CERT)')
    expect(bodies).toEqual([])
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        '--import=tsx',
        '--input-type=module',
        '--eval',
        `import { postJson } from ${JSON.stringify(new URL('./post-json.ts', import.meta.url).href)}
       console.log(await postJson(${JSON.stringify(url)}, { headers: {}, body: '{"a":1}' }, { allowLocal: true, timeoutMs: 5000 }))`,
      ],
      { env: { ...process.env, NODE_EXTRA_CA_CERTS: cert } },
    )
    expect([stdout.trim(), bodies.join('')]).toEqual(['202', '{"a":1}'])
  },
  { skip: !isThere },
)

proves('webhook.addresses', 'an answer that switches protocols is none', async () => {
  const switching = createTcpServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    })
    socket.on('error', () => {})
  })
  await expect(post(`http://127.0.0.1:${await listen(switching)}/in`)).rejects.toThrow('it gave no answer')
})
