import { expect, test } from 'vitest'
import { browserWords } from './browser-words.js'

const MOZILLA = 'Mozilla/5.0'
test.each([
  [`${MOZILLA} (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36`, 'Chrome on Windows'],
  [`${MOZILLA} (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0`, 'Edge on Windows'],
  [`${MOZILLA} (Macintosh; Intel Mac OS X 14_0) AppleWebKit/605 Version/17 Safari/605`, 'Safari on macOS'],
  [`${MOZILLA} (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605 Mobile Safari/604`, 'Safari on iOS'],
  [`${MOZILLA} (Linux; Android 14) AppleWebKit/537 Chrome/140 Mobile Safari/537`, 'Chrome on Android'],
  [`${MOZILLA} (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0`, 'Firefox on Linux'],
  ['curl/8.5.0', 'curl/8.5.0'],
  ['', 'Unknown browser'],
  [null, 'Unknown browser'],
])('%s reads %s', (userAgent, words) => {
  expect(browserWords(userAgent)).toBe(words)
})
