import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, expect, test } from 'vitest'
import { installDebianPackage } from '../../../scripts/debian-package.mjs'
import { withRuntime } from '../../support/runtime/with-runtime.js'

const NGINX = '/usr/sbin/nginx'
if (!existsSync(NGINX)) installDebianPackage('nginx-light')
const isThere = existsSync(NGINX) && spawnSync('openssl', ['version']).status === 0
if (!isThere)
  console.warn('nginx or openssl is not installed: the configuration of the guide for operators is not tried')

const folder = mkdtempSync(join(tmpdir(), 'countersign-nginx-'))
afterAll(() => rmSync(folder, { recursive: true }))

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

/** The configuration of the guide, with the names of this machine. */
function configuration(port: number, upstream: string): string {
  const page = readFileSync(new URL('../../../docs/guides/operate.md', import.meta.url), 'utf8')
  const [, text = ''] = /<!-- nginx.conf -->\n```nginx\n([\s\S]*?)```/.exec(page) ?? []
  const http = text
    .replace('127.0.0.1:4319', upstream)
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace('/etc/ssl/countersign.pem', join(folder, 'cert.pem'))
    .replace('/etc/ssl/countersign.key', join(folder, 'key.pem'))
    .replace('limit_conn clients 200', 'limit_conn clients 5')
    .replace('client_header_timeout 10s', 'client_header_timeout 1s')
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  return `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
    events {} http { access_log off; ${temp.join(' ')} ${http} }`
}

test.skipIf(!isThere)('nginx as the guide says serves clients, and bounds those who hold connections', async () => {
  const config = { COUNTERSIGN_TRUSTED_PROXIES: '127.0.0.1' }
  const { runtime } = await withRuntime({ config })
  const origin = new URL(await runtime.instances[0].listen())
  const subject = ['-subj', '/CN=localhost', '-days', '1', '-nodes', '-newkey', 'rsa:2048', '-x509']
  spawnSync('openssl', ['req', ...subject, '-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')])
  const port = await freePort()
  writeFileSync(join(folder, 'nginx.conf'), configuration(port, origin.host))
  const nginx = spawn(NGINX, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'ignore' })
  try {
    const ask = (path: string, headers: Record<string, string> = {}) =>
      new Promise<number>((done, fail) => {
        const options = { port, host: '127.0.0.1', path, headers, rejectUnauthorized: false }
        request(options, (reply) => done(reply.resume().statusCode ?? 0))
          .on('error', fail)
          .end()
      })
    await expect.poll(() => ask('/healthz').catch(() => 0), { timeout: 5_000 }).toBe(200)
    expect(await ask('/metrics')).toBe(403)
    expect(await ask('/api/v1/replay/sessions/ses_1', { authorization: `Bearer ${runtime.key}` })).toBe(404)
    // Six heads that do not end: nginx closes the connections, and the service has seen none of them.
    const sockets = Array.from({ length: 6 }, () => connect({ port, host: '127.0.0.1', rejectUnauthorized: false }))
    await Promise.all(sockets.map((socket) => once(socket, 'secureConnect')))
    for (const socket of sockets) socket.on('error', () => {}).write('GET /healthz HTTP/1.1\r\nhost: x\r\n')
    const closed = Promise.all(sockets.map((socket) => once(socket.resume(), 'close')))
    await closed
    expect(await ask('/healthz')).toBe(200)
  } finally {
    nginx.kill()
    await once(nginx, 'exit')
  }
})
