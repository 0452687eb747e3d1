import type { MailMessage } from '../../context/context.js'
import type { QueuedMail, TokenKind } from '../../store/accounts/mail.js'
import type { DueNotice } from '../../store/questions/deliveries.js'

export type Message = MailMessage

interface Wording {
  readonly path: string
  readonly subject: string
  readonly lines: readonly [string, string]
  readonly action: string
}

const WORDINGS = {
  verify: {
    path: '/verify-email',
    subject: 'Verify your email address',
    lines: [
      'Please confirm that this address is yours. API calls work once it is verified.',
      'The link is valid for 24 hours. If you did not sign up, ignore this email.',
    ],
    action: 'Verify email address',
  },
  reset: {
    path: '/reset-password',
    subject: 'Reset your password',
    lines: [
      'Someone asked to reset the password of your Countersign account.',
      'The link is valid for one hour and works once. If it was not you, ignore this email: nothing has changed.',
    ],
    action: 'Set a new password',
  },
} as const satisfies Record<TokenKind, Wording>

const invitation = (tenantName: string, invitedBy: string): Wording => ({
  path: JOIN_PATH,
  subject: `Join ${tenantName}`,
  lines: [
    `${invitedBy === 'operator' ? 'The operator of the service' : invitedBy} invites you to ${tenantName} on Countersign, which decides what AI agents may do.`,
    'The link is valid for seven days and works once. If you do not know the sender, ignore this email.',
  ],
  action: 'Join',
})

const JOIN_PATH = '/join'

/** The token travels in the fragment, which browsers send to no server and no referrer. */
const tokenLink = (publicUrl: string, path: string, token: string): string =>
  `${publicUrl}${path}#token=${encodeURIComponent(token)}`

/** Where a person joins with the token of an invitation. */
export const joinLink = (publicUrl: string, token: string): string => tokenLink(publicUrl, JOIN_PATH, token)

const disabledWebhook = (host: string, since: Date | null): Wording => ({
  path: '/webhooks',
  subject: 'A webhook was disabled',
  lines: [
    `The webhook at ${host} was disabled, because messages to it failed${since === null ? '' : ` since ${since.toISOString()}`}. The audit trail says why. People are still asked by email and in the dashboard.`,
    'What happens meanwhile is not sent later. When the address answers again, send a test and enable it.',
  ],
  action: 'Look at the webhooks',
})

type Worded =
  | Pick<QueuedMail & { kind: 'webhook' }, 'kind' | 'webhookUrl' | 'failingSince'>
  | Pick<QueuedMail & { kind: TokenKind }, 'kind'>
  | Pick<QueuedMail & { kind: 'invite' }, 'kind' | 'tenantName' | 'invitedBy'>

/** Plain and short, as text and as HTML. The host of the link comes from the configuration alone. */
export function writeMessage(mail: Worded, publicUrl: string, token: string): Message {
  if (mail.kind === 'webhook') {
    const { webhookUrl, failingSince } = mail
    const wording = disabledWebhook(
      webhookUrl === null ? 'an address that was removed since' : new URL(webhookUrl).host,
      failingSince,
    )
    return laidOut(wording, `${publicUrl}${wording.path}`)
  }
  const wording = mail.kind === 'invite' ? invitation(mail.tenantName, mail.invitedBy) : WORDINGS[mail.kind]
  return laidOut(wording, tokenLink(publicUrl, wording.path, token))
}

/** That questions wait. No argument is in it: a mail is read by more than its reader. `link` is the page of a question, or of all. */
export function writeNotice(
  notices: readonly [DueNotice, ...DueNotice[]],
  link: (questionId: string | null) => string,
): Message {
  const about = new Map(notices.map((notice) => [notice.questionId, notice]))
  if (about.size > 1) {
    return laidOut(
      {
        subject: `${about.size} calls need your answer`,
        lines: [
          `${about.size} calls wait for an answer. They have not run.`,
          'Opening the page decides nothing. After many mails in an hour, what waits comes together.',
        ],
        list: [...about.values()].map(
          (notice) => `${callWords(notice)} (question ${notice.questionId}, until ${notice.expiresAt.toISOString()})`,
        ),
        action: 'Look at the questions',
      },
      link(null),
    )
  }
  const [notice] = notices
  const { toolName, expiresAt, questionId, kind } = notice
  return laidOut(
    {
      subject: `${kind.startsWith('reminder') ? 'Still waiting: ' : ''}${toolName} needs your answer`,
      lines: [
        `A call of ${callWords(notice)}. It waits for an answer and has not run.`,
        `Question ${questionId} waits until ${expiresAt.toISOString()}. Opening the page decides nothing.`,
      ],
      action: 'Look at the question',
    },
    link(questionId),
  )
}

/** `pay by the agent buyer in production: large payment`. */
function callWords({ toolName, agent, environment, reason }: DueNotice): string {
  const by = agent === null ? 'an agent' : `the agent ${agent}`
  return `${toolName} by ${by}${environment === null ? '' : ` in ${environment}`}${reason === null ? '' : `: ${reason}`}`
}

function laidOut(
  { subject, lines, action, list = [] }: Omit<Wording, 'path'> & { readonly list?: readonly string[] },
  link: string,
): Message {
  const [first, last] = lines
  return {
    link,
    subject: `${subject} · Countersign`,
    text: `${first}\n\n${list.map((line) => `- ${line}\n`).join('')}${list.length === 0 ? '' : '\n'}${action}:\n${link}\n\n${last}\n`,
    html: `<!doctype html><html lang="en"><body style="font:16px/1.5 system-ui,sans-serif;color:#1c2430;margin:32px auto;max-width:32em;padding:0 16px">
<p>${escapeHtml(first)}</p>${
      list.length === 0
        ? ''
        : `
<ul>${list.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`
    }
<p><a href="${escapeHtml(link)}" style="display:inline-block;padding:10px 18px;border-radius:6px;background:#1f4fd8;color:#fff;text-decoration:none">${escapeHtml(action)}</a></p>
<p style="color:#5a6675">${escapeHtml(last)}</p>
</body></html>
`,
  }
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
