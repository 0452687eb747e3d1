import { expect, test } from 'vitest'
import { junitOfError } from './junit.js'

test('names keep their characters, and what XML forbids is replaced', () => {
  const xml = junitOfError('cut \ud83d, \u0000 & <ended> 😀', 'run "1"')
  expect(xml).toContain('message="cut \ufffd, \ufffd &amp; &lt;ended&gt; 😀"')
  expect(xml).toContain('classname="run &quot;1&quot;"')
})
