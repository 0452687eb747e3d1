import type { Browser, Page, Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { launchBrowser, noBrowser, openPage, seriousIssues } from '../support/browser/browser.js'
import { withFixturePages } from '../support/browser/fixture-pages.js'
import { proves } from '../support/proves.js'
import { type GovernedSession, openSession, succeeded } from '../support/runtime/governed-session.js'
import { createMailbox } from '../support/runtime/mailbox.js'
import { planOf } from '../support/runtime/plans.js'
import { type Runtime, startRuntime } from '../support/runtime/runtime.js'
import { newOwner } from '../support/runtime/team.js'
import { QUESTIONS } from './stories/questions.js'

const trouble = noBrowser()
const at = (id: string) => `/questions/${id}`

describe.skipIf(trouble !== null)(`questions to people${trouble === null ? '' : ` (skipped: ${trouble})`}`, () => {
  const { newPage, visit } = withFixturePages()

  proves('people.questions.inbox', async () => {
    const watched = await newPage()
    let page = await visit(watched, '/questions')
    const toolsOf = (label: string) => page.getByRole('table', { name: label }).locator('tbody th a').allInnerTexts()
    const own = await toolsOf('For you')
    expect(own).toContain('issue_refund')
    expect(own).not.toContain('close_account')
    expect(await toolsOf('For others')).toEqual(['close_account'])
    expect((await page.getByRole('heading', { level: 2 }).allInnerTexts()).slice(0, 2)).toEqual([
      'For you',
      'For others',
    ])
    const badge = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: /^Questions/ })
    expect(await badge.innerText()).toContain(String(own.length))
    expect(await page.title()).toBe(`(${own.length}) Questions · Countersign`)
    page = await visit(watched, '/')
    await page.getByText(`${own.length} calls wait for your answer, 1 for others'.`).waitFor()
    expect(await page.title()).toBe(`(${own.length}) Overview · Countersign`)
    page = await visit(watched, '/questions', { empty: true })
    await page.getByRole('heading', { name: 'Nothing waits for an answer' }).waitFor()
    expect(await page.title()).toBe('Questions · Countersign')
  })

  proves('people.questions.whole-call', async () => {
    const page = await visit(await newPage(), at(QUESTIONS.hostile))
    const call = page.locator('.whole')
    const text = await call.innerText()
    expect(text.match(/<b>All your invoices are paid\.<\/b>/g)?.length).toBe(900)
    expect(text).toContain('The end of it.')
    expect(text).toContain('"payU+200B@evil.example"')
    expect(text).toContain('[\n    1,\n    "1",\n    null\n  ]')
    expect(await page.locator('#content img, #content b, #content script').count()).toBe(0)
    // Nothing of it is behind an edge that a person would have to scroll to.
    const hidden = await call.evaluate(
      (element) =>
        [element, ...element.querySelectorAll('*')].filter(
          (part) => part.scrollHeight > part.clientHeight + 1 && getComputedStyle(part).overflowY !== 'visible',
        ).length,
    )
    expect(hidden).toBe(0)
  })

  proves(
    ['people.questions.whole-call', 'people.questions.changes'],
    'beside the rule and the call before',
    async () => {
      const page = await visit(await newPage(), at(QUESTIONS.refund))
      expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('May support run issue_refund?')
      await page.locator('.asking-rules').getByText('how much: 900').waitFor()
      expect(await page.locator('.changes').first().locator('tbody tr').allInnerTexts()).toEqual([
        expect.stringMatching(/amount\s+40\s+900/),
        expect.stringMatching(/items\[0\]\s+"A-1003\/2"\s+"A-1003\/1"/),
        expect.stringMatching(/items\[1\]\s+–\s*(none)?\s+"A-1003\/2"/),
      ])
      expect(await page.locator('.question-call').count()).toBe(5)
    },
  )

  proves('people.questions.looking-decides-nothing', async () => {
    const watched = await newPage()
    const sent: string[] = []
    watched.page.on(
      'request',
      (request) => request.method() === 'GET' || sent.push(`${request.method()} ${request.url()}`),
    )
    for (const id of [QUESTIONS.refund, QUESTIONS.own]) {
      const page = await visit(watched, `${at(id)}?decision=approve&answer=approve#approve`)
      // Enter in the note is a new line, and no answer.
      await page.getByLabel('Note (optional)').press('Enter')
    }
    await visit(watched, '/questions/batch?rule=issue_refund%230&decision=approve')
    expect(sent).toEqual([])
  })

  proves('people.questions.read-again', 'which an owner asks again meanwhile', async () => {
    const page = await visit(await newPage(), at(QUESTIONS.refund), { questionRace: 'changed' })
    const bodies = answersOf(page)
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('Your answer was not counted.').waitFor()
    await page.getByText('This question has changed since you opened it.').waitFor()
    expect(await page.getByRole('button', { name: /^(Approve|Deny)$/ }).count()).toBe(0)
    expect(await page.locator('.whole').innerText()).toContain('950')
    await page.getByRole('button', { name: 'I have read it' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByRole('heading', { name: 'Outcome' }).waitFor()
    expect(bodies.map(({ card_hash }) => card_hash?.slice(0, 1))).toEqual(['c', 'e'])
  })

  proves('people.questions.too-late', async () => {
    const page = await visit(await newPage(), at(QUESTIONS.refund), { questionRace: 'decided' })
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('Your answer was not counted.').waitFor()
    const outcome = page.locator('.question-answer')
    await outcome.getByText('Denied by Ben Ode').waitFor()
    expect(await outcome.innerText()).toMatch(
      /Ben Ode denied it a moment ago[\s\S]*I was faster\.[\s\S]*blocked in this session/,
    )
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  })

  proves('people.questions.take-back', async () => {
    const page = await visit(await newPage(), at(QUESTIONS.approved))
    const bodies = answersOf(page)
    await page.getByText('Take the approval back').click()
    await page.getByLabel('Note (optional)').fill('Wrong customer.')
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Deny after all' }).click()
    await page.getByText('Denied by Dana').first().waitFor()
    expect(bodies).toEqual([expect.objectContaining({ decision: 'deny', note: 'Wrong customer.' })])
    expect(await page.getByRole('button', { name: 'Deny after all' }).count()).toBe(0)
  })

  proves('people.questions.edited', async () => {
    const page = await visit(await newPage(), at(QUESTIONS.refund))
    const bodies = answersOf(page)
    await page.getByText('Change it before you approve').click()
    await page.getByLabel('amount').fill('901')
    await page.getByText('Not a number, or more than was asked').waitFor()
    expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true)
    await page.getByLabel('amount').fill('400')
    await page.getByLabel('"A-1003/2"').uncheck()
    await page.getByLabel('Note (optional)').fill('Only the damaged part.')
    await page.getByRole('button', { name: 'Approve with changes' }).click()
    await page.getByText('Approved with changes by Dana').first().waitFor()
    expect(bodies).toEqual([
      expect.objectContaining({
        decision: 'approve',
        note: 'Only the damaged part.',
        arguments: { order_id: 'A-1003', amount: 400, currency: 'EUR', items: ['A-1003/1'], reason_code: 'damaged' },
      }),
    ])
    expect(await page.locator('.answers .changes tbody tr').first().innerText()).toMatch(/amount\s+900\s+400/)
  })

  proves(['people.questions.only-deny', 'people.questions.by-role'], 'on their pages', async () => {
    const watched = await newPage()
    const buttons = (name: string) => watched.page.locator('.question-answer').getByRole('button', { name }).count()
    await visit(watched, at(QUESTIONS.changed))
    expect([await buttons('Approve'), await buttons('Deny')]).toEqual([0, 1])
    await visit(watched, at(QUESTIONS.others))
    await watched.page.getByText('It asks members of finance, and you are not in that group.').waitFor()
    expect([await buttons('Approve'), await buttons('Deny')]).toEqual([0, 0])
    await visit(watched, at(QUESTIONS.own))
    expect([await buttons('Approve'), await buttons('Confirm'), await buttons('Deny')]).toEqual([0, 1, 1])
    await visit(watched, at(QUESTIONS.refund), { role: 'viewer' })
    expect([await buttons('Approve'), await buttons('Deny')]).toEqual([0, 0])
    await visit(watched, '/questions', { role: 'viewer' })
    await watched.page.getByText('Approvers and owners answer them.').waitFor()
  })

  proves('people.questions.batch', async () => {
    const watched = await newPage()
    let page = await visit(watched, '/questions')
    await page.getByRole('link', { name: 'Answer 3 questions about issue_refund on one page' }).click()
    const send = page.getByRole('button', { name: 'Nothing decided yet' })
    await send.waitFor()
    expect(await send.isDisabled()).toBe(true)
    expect(await page.getByRole('radio', { checked: true }).count()).toBe(3)
    expect(await page.getByRole('radio', { name: 'Later', checked: true }).count()).toBe(3)
    expect(await page.getByRole('button', { name: /all/i }).count()).toBe(0)
    await page.getByRole('radio', { name: 'Approve' }).nth(0).check()
    await page.getByRole('radio', { name: 'Approve' }).nth(2).check()
    await page.getByRole('radio', { name: 'Deny' }).nth(1).check()
    expect(await page.locator('.batch-sums tbody tr').last().innerText()).toMatch(
      /how much \(EUR\), together\s+1699\.1\s+612\.4\s+0/,
    )
    await page.getByRole('button', { name: 'Approve 2, deny 1' }).click()
    await expect.poll(() => page.locator('.batch-result').allInnerTexts()).toEqual(['Approved', 'Denied', 'Approved'])
    await page.getByRole('button', { name: 'Show what is left' }).click()
    await page.getByRole('heading', { name: 'Nothing of this rule waits for you' }).waitFor()

    page = await visit(watched, '/questions/batch?rule=issue_refund%230', { questionRace: 'decided' })
    await page.getByRole('radio', { name: 'Approve' }).nth(0).check()
    await page.getByRole('button', { name: 'Approve 1' }).click()
    await page.getByText('Not counted: Ben Ode denied it a moment ago').waitFor()
    expect(await page.getByRole('radio').count()).toBe(6)
  })

  proves('people.webhooks', async () => {
    const watched = await newPage()
    const page = await visit(watched, '/webhooks', { empty: true })
    await page.getByRole('heading', { name: 'No webhooks' }).waitFor()
    await page.getByLabel('Address of a new webhook').fill('https://new.example/in')
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByText(/^whsec_/).waitFor()
    await page.getByRole('button', { name: 'I saved it' }).click()
    expect(await page.getByText(/^whsec_/).count()).toBe(0)
    const item = page.getByRole('listitem', { name: 'https://new.example/in' })
    await item.getByRole('button', { name: 'Send a test' }).click()
    await item.getByText('the address answered 204').waitFor()
    await item.getByRole('button', { name: 'Messages' }).click()
    await item.getByText('10 attempts: it cannot be reached (ECONNREFUSED), given up').waitFor()
    await item.getByRole('button', { name: 'Roll the secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Make a new secret' }).click()
    await page.getByText(/^whsec_/).waitFor()
    await item.getByText('old secret ends').waitFor()
    await item.getByRole('button', { name: 'Disable' }).click()
    await item.getByRole('button', { name: 'Enable' }).waitFor()
    await item.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove webhook' }).click()
    await page.getByRole('heading', { name: 'No webhooks' }).waitFor()
    await visit(watched, '/questions', { role: 'approver' })
    expect(await page.getByRole('link', { name: 'Webhooks' }).count()).toBe(0)
  })

  proves('people.questions.statistics', async () => {
    const page = await visit(await newPage(), '/questions/statistics')
    const row = page.getByRole('row', { name: /^issue_refund#0/ })
    expect(await row.innerText()).toMatch(/41\s+0\.2\s+82\.9%\s+29 of 35\s+3\s+3\s+5 min/)
    expect(await page.getByRole('row', { name: /Ben Ode/ }).innerText()).toMatch(/231\s+98\.2%\s+7 s/)
    const tiring = page.locator('.strip', { hasText: 'send_mail#0 asks more than it helps' })
    expect(await tiring.count()).toBe(1)
    await tiring.getByRole('button', { name: 'Draft a plan that asks less' }).click()
    const review = tiring.getByRole('link', { name: 'Review the draft' })
    expect(await review.getAttribute('href')).toBe('/plans/plan_asks-less')
    expect(await tiring.innerText()).toContain(
      'Of 206 calls that people decided, the draft would have asked about 5, including every one that was denied or changed (2).',
    )
    const viewer = await visit(await newPage(), '/questions/statistics', { role: 'viewer' })
    const link = viewer.locator('.strip', { hasText: 'send_mail#0' }).getByRole('link')
    expect(await link.getAttribute('href')).toBe('/plans?agent=support')
  })
})

/** On the real service, with an agent that asks. The tests follow one another. */
describe.skipIf(trouble !== null)(`an agent that asks${trouble === null ? '' : ` (skipped: ${trouble})`}`, () => {
  const mailbox = createMailbox()
  let browser: Browser
  let runtime: Runtime
  let session: GovernedSession
  let page: Page
  let url: string

  const pay = (amount: number) => [{ name: 'pay', args: { amount, to: 'NL91ABNA0417164300' } }]
  const propose = async (amount: number) => {
    const { decisions } = await session.decide(pay(amount))
    const [decision] = decisions
    if (decision === undefined) throw new Error('the call was not judged')
    if (decision.decision === 'allow') {
      const settled = await session.receipts(succeeded(decisions))
      session.stateVersion = settled.body.state_version
    }
    return decision
  }
  /** The page of the question about a call that waits. */
  const ask = async (amount: number): Promise<string> => {
    const { decision, reason, question } = await propose(amount)
    expect([decision, reason, question?.state]).toEqual(['block', null, 'waiting'])
    return `${url}/questions/${question?.question_id}`
  }

  beforeAll(async () => {
    runtime = await startRuntime({ mailer: mailbox })
    const owner = await newOwner(runtime, mailbox)
    await runtime.sql`update tenants set quota = 'scale'`
    const checkpoint = {
      when: [{ path: '$.amount', gt: 200 }],
      reason: 'Payments above 200 are for a person.',
      context: [{ label: 'amount', path: '$.amount' }],
      ask: {},
    }
    const plan = planOf([{ tool: 'pay', side_effect: 'financial', gate: 'allow', checkpoint }])
    session = await openSession(runtime.api(owner.key), { plan, agent: 'support' })
    url = await runtime.instances[0].listen()
    browser = await launchBrowser()
    page = (await openPage(browser)).page
    await page.goto(`${url}/sign-in`)
    await page.getByLabel('Email').fill(owner.email)
    await page.getByLabel('Password').fill(owner.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
  })
  afterAll(async () => {
    await browser?.close()
    await runtime?.close()
  })

  proves('people.questions.journey', 'approved, and run once', async () => {
    expect((await propose(100)).decision).toBe('allow')
    const question = await ask(300)
    await page.goto(url)
    await page.getByText('1 call waits for your answer.').waitFor()
    expect(await page.title()).toBe('(1) Overview · Countersign')
    await page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link', { name: /^Questions/ })
      .click()
    await page.getByRole('table', { name: 'For you' }).getByRole('link', { name: 'pay' }).click()
    await page.waitForURL(question)
    expect(await page.locator('.whole').innerText()).toMatch(/amount\s+300\s+to\s+"NL91ABNA0417164300"/)
    expect(await page.locator('.changes tbody tr').allInnerTexts()).toEqual([
      expect.stringMatching(/amount\s+100\s+300/),
    ])
    expect(await page.locator('.question-call').allInnerTexts()).toEqual([
      expect.stringMatching(/pay[\s\S]*Allowed[\s\S]*Succeeded/),
    ])
    expect(await seriousIssues(page)).toEqual([])
    await page.getByLabel('Note (optional)').fill('As agreed.')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText('The call may run once.').waitFor()
    await expect.poll(() => page.title()).toMatch(/^pay/)

    expect(await propose(300)).toMatchObject({ decision: 'allow', approval: { card_no: 1 } })
    await page.getByText('This approval cannot be used again.').waitFor()
    expect(await ask(300)).not.toBe(question)
  })

  proves('people.questions.journey', 'denied, with a note for the model', async () => {
    await page.goto(await ask(300))
    await page.getByLabel('Note (optional)').fill('Once is enough.')
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByText('is blocked in this session').waitFor()
    const refused = await propose(300)
    expect(refused).toMatchObject({ decision: 'block', reason: 'checkpoint_denied' })
    expect(refused.remedy).toContain('Once is enough.')
  })

  proves(
    ['people.questions.journey', 'people.questions.batch'],
    'several on one page, and the session leads to them',
    async () => {
      await ask(400)
      await ask(500)
      await page.goto(`${url}/questions`)
      await page.getByRole('link', { name: 'Answer 2 questions about pay on one page' }).click()
      const line = (amount: string) => page.locator('.batch-line', { hasText: amount })
      await line('400').getByRole('radio', { name: 'Approve' }).check()
      await line('500').getByRole('radio', { name: 'Deny' }).check()
      await page.getByRole('button', { name: 'Approve 1, deny 1' }).click()
      await expect.poll(() => line('400').locator('.batch-result').allInnerTexts()).toEqual(['Approved'])
      await expect.poll(() => line('500').locator('.batch-result').allInnerTexts()).toEqual(['Denied'])
      expect((await propose(400)).decision).toBe('allow')
      expect((await propose(500)).reason).toBe('checkpoint_denied')
      await page.goto(`${url}/sessions/${session.sessionId}`)
      await expect.poll(() => page.getByRole('heading', { name: 'A person denied' }).count()).toBe(2)
      await page.getByRole('link', { name: '4 questions to people' }).click()
      await expect.poll(() => page.locator('.questions tbody tr').count()).toBe(4)
    },
  )
})

/** The answers that a page sends from now on. */
function answersOf(page: { on(event: 'request', listener: (request: Request) => void): unknown }) {
  const bodies: { card_hash?: string }[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') bodies.push(request.postDataJSON())
  })
  return bodies
}
