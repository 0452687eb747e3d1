import type { Page } from 'playwright-core'
import {
  BLOCKED_DRAFT,
  DRAFT,
  type dashboardFixtures,
  HOSTILE_SESSION,
  KEYS_SESSION,
  LEARNED_PLAN,
  MAIN_SESSION,
  SOURCES_SESSION,
  UNANSWERED_SESSION,
} from './fixtures.js'
import { QUESTIONS } from './questions.js'

export interface PageCase {
  readonly name: string
  readonly path: string
  readonly options?: NonNullable<Parameters<typeof dashboardFixtures>[1]>
  /** A status that this page is refused with, which the browser then reports. */
  readonly refused?: number
  readonly act?: (page: Page) => Promise<void>
}

const OUT = { signedIn: false }

/** Every page of the dashboard, and those of its states that look different. */
export const PAGES: readonly PageCase[] = [
  { name: 'sign-in', path: '/sign-in', options: OUT },
  {
    name: 'sign-in-providers',
    path: '/sign-in?next=%2Fplans',
    options: { signedIn: false, ways: { signup: false, providers: [{ id: 'acme', name: 'Acme' }] } },
  },
  {
    name: 'sign-in-elsewhere',
    path: '/sign-in',
    options: { signedIn: false, ways: { signup: false, passwords: false, providers: [{ id: 'acme', name: 'Acme' }] } },
  },
  { name: 'sign-up', path: '/sign-up', options: OUT },
  { name: 'sign-up-closed', path: '/sign-up', options: { signedIn: false, ways: { signup: false } } },
  { name: 'join', path: '/join#token=good-token-0123456789', options: OUT },
  { name: 'join-ended', path: '/join#token=used-token-0123456789', options: OUT, refused: 400 },
  { name: 'join-no-token', path: '/join', options: OUT },
  {
    name: 'sign-up-key',
    path: '/sign-up',
    options: OUT,
    act: async (page) => {
      await page.getByLabel('Email').fill('dana@northwind.example')
      await page.getByLabel('Password').fill('correct horse battery')
      await page.getByRole('button', { name: 'Create account' }).click()
      await page.getByText('Your first API key').waitFor()
    },
  },
  { name: 'forgot-password', path: '/forgot-password', options: OUT },
  { name: 'reset-password', path: '/reset-password#token=good-token-0123456789', options: OUT },
  { name: 'verify-email', path: '/verify-email#token=good-token-0123456789', options: OUT },
  { name: 'verify-email-bad', path: '/verify-email#token=used-token-0123456789', options: OUT, refused: 400 },
  { name: 'overview', path: '/' },
  { name: 'overview-drifting', path: '/', options: { drifting: true } },
  { name: 'overview-empty', path: '/', options: { empty: true, verified: false } },
  { name: 'sessions', path: '/sessions' },
  { name: 'sessions-between', path: '/sessions?since=between&from=2020-01-01T00%3A00&to=2099-01-01T00%3A00' },
  { name: 'sessions-none', path: '/sessions?q=nothing&status=KILLED' },
  { name: 'session', path: `/sessions/${MAIN_SESSION}` },
  {
    name: 'session-call',
    path: `/sessions/${MAIN_SESSION}#call-4-0`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Verify ledger' }).click()
      await page.getByText('Verified:').waitFor()
    },
  },
  {
    name: 'session-kill',
    path: `/sessions/${MAIN_SESSION}`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Kill session' }).click()
    },
  },
  {
    name: 'session-label',
    path: `/sessions/${MAIN_SESSION}`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Add a label' }).click()
    },
  },
  { name: 'session-hostile', path: `/sessions/${HOSTILE_SESSION}` },
  { name: 'session-unknown', path: '/sessions/ses_nobody', refused: 404 },
  { name: 'session-unanswered', path: `/sessions/${UNANSWERED_SESSION}` },
  { name: 'session-keys', path: `/sessions/${KEYS_SESSION}` },
  { name: 'session-sources', path: `/sessions/${SOURCES_SESSION}` },
  { name: 'calls', path: '/calls' },
  { name: 'calls-unanswered', path: '/calls?decision=unanswered' },
  { name: 'calls-session', path: `/calls?session=${MAIN_SESSION}` },
  { name: 'inbox', path: '/questions' },
  { name: 'inbox-empty', path: '/questions', options: { empty: true } },
  { name: 'inbox-none', path: '/questions?rule=pay%239' },
  { name: 'inbox-any', path: '/questions?state=any' },
  { name: 'inbox-viewer', path: '/questions', options: { role: 'viewer' } },
  { name: 'question', path: `/questions/${QUESTIONS.refund}` },
  {
    name: 'question-edit',
    path: `/questions/${QUESTIONS.refund}`,
    act: async (page) => {
      await page.getByText('Change it before you approve').click()
      await page.getByLabel('amount').fill('400')
      await page.getByLabel('"A-1003/2"').uncheck()
      await page.getByRole('button', { name: 'Approve with changes' }).waitFor()
    },
  },
  { name: 'question-own', path: `/questions/${QUESTIONS.own}` },
  { name: 'question-two', path: `/questions/${QUESTIONS.two}` },
  { name: 'question-hostile', path: `/questions/${QUESTIONS.hostile}` },
  { name: 'question-changed', path: `/questions/${QUESTIONS.changed}` },
  { name: 'question-others', path: `/questions/${QUESTIONS.others}` },
  { name: 'question-viewer', path: `/questions/${QUESTIONS.refund}`, options: { role: 'viewer' } },
  { name: 'question-approved', path: `/questions/${QUESTIONS.approved}` },
  {
    name: 'question-take-back',
    path: `/questions/${QUESTIONS.approved}`,
    act: async (page) => {
      await page.getByText('Take the approval back').click()
    },
  },
  { name: 'question-used', path: `/questions/${QUESTIONS.used}` },
  { name: 'question-denied', path: `/questions/${QUESTIONS.denied}` },
  { name: 'question-expired', path: `/questions/${QUESTIONS.expired}` },
  { name: 'question-erased', path: `/questions/${QUESTIONS.erased}` },
  { name: 'question-unknown', path: '/questions/Q-NOSUCHQUESTI', refused: 404 },
  {
    name: 'question-late',
    path: `/questions/${QUESTIONS.refund}`,
    options: { questionRace: 'decided' },
    refused: 409,
    act: async (page) => {
      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('Ben Ode denied it a moment ago').waitFor()
    },
  },
  {
    name: 'question-again',
    path: `/questions/${QUESTIONS.refund}`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Ask again' }).click()
    },
  },
  {
    name: 'batch',
    path: '/questions/batch?rule=issue_refund%230&agent=support',
    act: async (page) => {
      await page.getByRole('radio', { name: 'Approve' }).first().check()
      await page.getByRole('radio', { name: 'Deny' }).nth(1).check()
      await page.getByRole('button', { name: 'Approve 1, deny 1' }).waitFor()
    },
  },
  { name: 'batch-empty', path: '/questions/batch?rule=pay%239' },
  {
    name: 'statistics',
    path: '/questions/statistics',
    act: async (page) => {
      await page.getByRole('button', { name: 'Draft a plan that asks less' }).click()
      await page.getByRole('link', { name: 'Review the draft' }).waitFor()
    },
  },
  { name: 'statistics-empty', path: '/questions/statistics', options: { empty: true } },
  { name: 'webhooks', path: '/webhooks' },
  {
    name: 'webhooks-open',
    path: '/webhooks',
    act: async (page) => {
      const failing = page.getByRole('listitem', { name: /chat\.northwind/ })
      await failing.getByRole('button', { name: 'Messages' }).click()
      await failing.getByText('given up').waitFor()
      await failing.getByRole('button', { name: 'Send a test' }).click()
      await failing.getByText('The test has not arrived').waitFor()
      await page.getByLabel('Address of a new webhook').fill('https://new.northwind.example/in')
      await page.getByRole('button', { name: 'Add' }).click()
      await page.getByText('whsec_').waitFor()
    },
  },
  { name: 'webhooks-empty', path: '/webhooks', options: { empty: true } },
  { name: 'captures', path: '/captures' },
  {
    name: 'captures-so-far',
    path: '/captures?tool=long_ago',
    act: async (page) => {
      await page.getByRole('heading', { name: 'No matching captures so far' }).waitFor()
      await page.getByRole('link', { name: 'Older captures' }).waitFor()
    },
  },
  { name: 'agents', path: '/agents' },
  { name: 'workflows', path: '/workflows' },
  { name: 'workflow', path: '/workflows/case-1042' },
  { name: 'contracts', path: '/contracts?agent=newsletter' },
  { name: 'contracts-calls', path: '/contracts?agent=newsletter&calls=observed' },
  { name: 'contracts-empty', path: '/contracts', options: { empty: true } },
  { name: 'plans', path: '/plans' },
  {
    name: 'plan-draft',
    path: `/plans/${DRAFT}`,
    act: async (page) => {
      await page.getByText('would change, first here').waitFor()
    },
  },
  {
    name: 'plan-edit',
    path: `/plans/${DRAFT}`,
    act: async (page) => {
      await page.getByRole('button', { name: 'Edit' }).click()
      await page.getByRole('button', { name: 'Save draft' }).waitFor()
    },
  },
  { name: 'plan-learned', path: `/plans/${LEARNED_PLAN}` },
  { name: 'plan-drifting', path: `/plans/${LEARNED_PLAN}`, options: { drifting: true } },
  { name: 'plan-blocked', path: `/plans/${BLOCKED_DRAFT}` },
  {
    name: 'playground',
    path: '/playground',
    act: async (page) => {
      await page.getByRole('button', { name: 'Evaluate' }).click()
      await page.getByText('Decisions').waitFor()
    },
  },
  { name: 'members', path: '/members' },
  {
    name: 'members-change',
    path: '/members',
    act: async (page) => {
      await page.getByRole('button', { name: /^Change ben@/ }).click()
    },
  },
  {
    name: 'members-last-owner',
    path: '/members',
    act: async (page) => {
      await page.getByRole('button', { name: /^Change dana@/ }).click()
      await page.getByText('The last owner who can sign in').waitFor()
    },
  },
  {
    name: 'members-remove',
    path: '/members',
    act: async (page) => {
      await page.getByRole('button', { name: /^Remove ben@/ }).click()
    },
  },
  { name: 'members-refused', path: '/members', options: { role: 'viewer' }, refused: 403 },
  { name: 'account', path: '/account' },
  { name: 'account-viewer', path: '/account', options: { role: 'viewer', ways: { passwords: false } } },
  { name: 'plan-viewer', path: `/plans/${DRAFT}`, options: { role: 'viewer' } },
  { name: 'session-viewer', path: `/sessions/${MAIN_SESSION}`, options: { role: 'viewer' } },
  { name: 'keys', path: '/keys' },
  {
    name: 'keys-limits',
    path: '/keys',
    act: async (page) => {
      await page.getByText('Limit what it can do').click()
    },
  },
  { name: 'audit', path: '/audit' },
  { name: 'audit-none', path: '/audit?who=nobody%40northwind.example' },
  { name: 'audit-refused', path: '/audit', options: { role: 'approver' }, refused: 403 },
  { name: 'limits', path: '/limits' },
  { name: 'not-found', path: '/no/such/page' },
]
