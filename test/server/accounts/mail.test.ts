import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import { afterEach, describe, expect, test } from 'vitest'
import {
  type MailWorkerParts,
  sendDueMail,
  startMailWorker,
} from '../../../packages/server/src/process/mail/mail-worker.js'
import { createOutboxMailer, createSmtpMailer, type Mailer } from '../../../packages/server/src/process/mail/mailer.js'
import { writeMessage } from '../../../packages/server/src/process/mail/messages.js'
import { passTime } from '../../support/postgres/pass-time.js'
import { proves } from '../../support/proves.js'
import { tokenIn } from '../../support/runtime/mailbox.js'
import { Person } from '../../support/runtime/person.js'
import { type Runtime, startRuntime } from '../../support/runtime/runtime.js'

interface Received {
  readonly recipients: string[]
  readonly raw: string
}

/** A real SMTP server on loopback that keeps what it is given. */
async function startSmtp(port = 0) {
  const received: Received[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session: SMTPServerSession, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        received.push({
          recipients: session.envelope.rcptTo.map(({ address }) => address),
          raw: Buffer.concat(chunks).toString(),
        })
        done()
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    received,
    port: (server.server.address() as AddressInfo).port,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

/** Quoted-printable, as far as our mails use it. */
const plain = (raw: string) => raw.replaceAll('=\r\n', '').replaceAll('=3D', '=')

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function setUp(smtpPort: number): Promise<Runtime> {
  const runtime = await startRuntime({
    config: {
      COUNTERSIGN_SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
      COUNTERSIGN_MAIL_FROM: 'Countersign <no-reply@countersign.test>',
      COUNTERSIGN_PUBLIC_URL: 'http://dashboard.test',
    },
  })
  closers.push(runtime.close)
  return runtime
}
const personOf = (runtime: Runtime) => new Person(runtime.fetch, { origin: 'http://dashboard.test' })
const mailOf = (runtime: Runtime) => runtime.instances[0].parts.accounts.mail

describe('mail over SMTP', () => {
  proves(
    ['auth.reset.mailed-link'],
    'has one recipient, text and HTML, and a link whose host comes from the configuration',
    async () => {
      const smtp = await startSmtp()
      closers.push(smtp.close)
      const runtime = await setUp(smtp.port)
      const ada = personOf(runtime)
      await ada.signup()
      await ada.call('forgotPassword', {
        body: { email: ada.email },
        headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
      })
      await mailOf(runtime).idle()
      expect(smtp.received.map(({ recipients }) => recipients)).toEqual([[ada.email], [ada.email]])
      const [verification, reset] = smtp.received.map(({ raw }) => plain(raw))
      expect(verification).toContain('http://dashboard.test/verify-email#token=')
      expect(reset).toContain('http://dashboard.test/reset-password#token=')
      expect(reset).toMatch(/content-type: text\/plain/i)
      expect(reset).toMatch(/content-type: text\/html/i)
      expect(reset).not.toContain('evil.example')
      const answer = await ada.call('resetPassword', {
        body: { token: tokenIn(reset ?? ''), password: 'a brand new password' },
      })
      expect(answer.status).toBe(200)
    },
  )

  test('a server that is down delays the mail and nothing else', async () => {
    const first = await startSmtp()
    await first.close()
    const runtime = await setUp(first.port)
    const ada = personOf(runtime)
    expect((await ada.signup()).status).toBe(201)
    await mailOf(runtime).idle()
    const smtp = await startSmtp(first.port)
    closers.push(smtp.close)
    await mailOf(runtime).idle()
    expect(smtp.received).toEqual([])
    await passTime(runtime.sql, 61_000, ['mail_queue'])
    await mailOf(runtime).idle()
    expect(smtp.received).toHaveLength(1)
    expect(
      (await ada.call('verifyEmail', { body: { token: tokenIn(plain(smtp.received[0]?.raw ?? '')) } })).status,
    ).toBe(200)
  })

  test('an address cannot become a header or a second recipient', async () => {
    const smtp = await startSmtp()
    closers.push(smtp.close)
    const mailer = createSmtpMailer({ url: `smtp://127.0.0.1:${smtp.port}`, from: 'no-reply@countersign.test' })
    closers.push(async () => mailer.close())
    const message = writeMessage({ kind: 'reset' }, 'http://dashboard.test', 'token')
    for (const address of ['a@x.test\r\nBcc: b@x.test', 'a@x.test, b@x.test', 'friends: a@x.test, b@x.test;']) {
      await mailer.send(address, message, 'mail_1').catch(() => {})
    }
    for (const { recipients, raw } of smtp.received) {
      expect(recipients).toHaveLength(1)
      expect(raw).not.toMatch(/^bcc:/im)
    }
  })
})

test('a crash between making the token and sending the mail costs nothing: the retry makes a new token', async () => {
  const sent: string[] = []
  const crashing: Mailer = { delivery: 'sent', send: () => new Promise(() => {}), close: () => {} }
  const runtime = await startRuntime({
    mailer: {
      ...crashing,
      send: async () => {
        throw new Error('never reached')
      },
    },
  })
  closers.push(runtime.close)
  const ada = new Person(runtime.fetch)
  await ada.signup()
  await mailOf(runtime).idle()
  await runtime.sql`update mail_queue set attempts = 0, next_attempt_at = clock_timestamp()`
  const { parts } = runtime.instances[0]
  void sendDueMail({ ...parts, mailer: crashing })
  await expect.poll(async () => (await runtime.sql`select 1 from mail_queue where attempts = 1`).length).toBe(1)
  await passTime(runtime.sql, 61_000, ['mail_queue'])
  const mailer: Mailer = {
    delivery: 'sent',
    send: async (_to, message) => {
      sent.push(message.text)
    },
    close: () => {},
  }
  expect(await sendDueMail({ ...parts, mailer })).toBe(true)
  expect(await sendDueMail({ ...parts, mailer })).toBe(false)
  expect(sent).toHaveLength(1)
  expect((await ada.call('verifyEmail', { body: { token: tokenIn(sent[0] ?? '') } })).status).toBe(200)
})

proves('limit.fair.mail-queue', async () => {
  let looks = 0
  const transaction = async () => {
    looks += 1
    await new Promise((done) => setTimeout(done, 5))
  }
  const { parts } = (await setUp(1)).instances[0]
  const mailer = { close: () => {} } as Mailer
  const worker = startMailWorker({ ...parts, mailer, database: { transaction } as never } satisfies MailWorkerParts)
  for (let times = 0; times < 1_000; times++) worker.wake()
  await new Promise((done) => setTimeout(done, 1))
  for (let times = 0; times < 1_000; times++) worker.wake()
  await worker.idle()
  expect(looks).toBe(2)
  await worker.close()
})

test('the page says what becomes of a mail: it is sent, or lies in the outbox, or stands in the terminal', async () => {
  const deliveries = async (options: Parameters<typeof startRuntime>[0]) => {
    const runtime = await startRuntime(options)
    closers.push(() => runtime.close())
    const person = new Person(runtime.fetch)
    const { mail } = (await person.signup()).body
    const again = await person.call('resendVerification', { body: { email: person.email } })
    const forgot = await person.call('forgotPassword', { body: { email: 'nobody@example.test' } })
    await runtime.instances[0].parts.accounts.mail.idle()
    return [mail, (await person.call('me')).body.mail, again.body.mail, forgot.body.mail]
  }
  const smtp = await startSmtp()
  closers.push(smtp.close)
  const config = { COUNTERSIGN_SMTP_URL: `smtp://127.0.0.1:${smtp.port}` }
  expect(await deliveries({ config })).toEqual(Array(4).fill('sent'))
  const folder = await mkdtemp(join(tmpdir(), 'countersign-outbox-'))
  closers.push(() => rm(folder, { recursive: true }))
  const [files, shown]: string[][] = [[], []]
  const tell = (file: string) => files?.push(file)
  expect(await deliveries({ mailer: createOutboxMailer({ folder, tell }) })).toEqual(Array(4).fill('outbox'))
  expect(files).toHaveLength(2)
  const show = (sentence: string) => shown?.push(sentence)
  expect(await deliveries({ mailer: createOutboxMailer({ folder, tell, show }) })).toEqual(Array(4).fill('terminal'))
  expect(shown).toEqual([
    expect.stringContaining('/verify-email#token='),
    expect.stringContaining('/verify-email#token='),
  ])
})

proves(
  'auth.links.not-logged',
  'a mailed link stands in its file, and on a terminal if a person watches one',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'countersign-links-'))
    closers.push(() => rm(folder, { recursive: true }))
    const signUp = async (isWatched: boolean) => {
      const [said, shown]: string[][] = [[], []]
      const outbox = {
        say: (sentence: string) => said?.push(sentence),
        terminal: isWatched ? (sentence: string) => shown?.push(sentence) : undefined,
      }
      const runtime = await startRuntime({ config: { COUNTERSIGN_DATA_FOLDER: folder }, outbox })
      closers.push(() => runtime.close())
      const { mail } = (await new Person(runtime.fetch).signup()).body
      await runtime.instances[0].parts.accounts.mail.idle()
      const output = [...runtime.logLines, ...(said ?? [])].join()
      expect(output).toMatch(/outbox\/[^"]+\.txt/)
      expect(output).not.toContain('token=')
      return { mail, shown }
    }
    expect(await signUp(false)).toEqual({ mail: 'outbox', shown: [] })
    expect(await signUp(true)).toEqual({ mail: 'terminal', shown: [expect.stringContaining('/verify-email#token=')] })
    const files = await readdir(join(folder, 'outbox'))
    expect(files).toHaveLength(2)
    for (const file of files)
      expect(await readFile(join(folder, 'outbox', file), 'utf8')).toContain('/verify-email#token=')
  },
)
