import { expect, test } from 'vitest'
import { sourceText, stringLiterals } from './support/files/source-text.js'

test.each([
  ['line comments', "a // 'x'\nb", 'a\nb'],
  ['block comments', 'a /* b\n c */ d', 'a\nd'],
  ['strings', 'f(\'a // b\', "c")', 'f(\'      \', " ")'],
  ['escaped quotes', "f('a\\'b') // c", "f('    ')"],
  ['templates with code inside', '`a #{b + `c`} d`', '`  #{b + ` `}  `'],
  ['braces inside a template', '`#{{ a: "}" }} x` // y', '`#{{ a: " " }}  `'],
  ['regexes with quotes and slashes', 'x = /[\'"/]/g // y', 'x = /     /g'],
  ['classes in regexes', 'f(/[/]\\//) / 2', 'f(/     /) / 2'],
  ['divisions', "a / b / 'c'", "a / b / ' '"],
  ['apostrophes in the text of an element', "<p>it's</p>\n'a'", "<p>it's</p>\n' '"],
])('reads %s', (_, written, expected) => {
  // `#{` stands for the opening of a template's code, which a plain string may not hold.
  const [source, bare] = [written, expected].map((each) => each.replaceAll('#{', '$' + '{')) as [string, string]
  const text = sourceText(source)
  const trimmed = text.bare.replace(/[ ]+$/gm, '').replace(/^[ ]+/gm, '')
  expect(trimmed).toBe(bare)
  expect(text.bare).toHaveLength(source.length)
  expect(text.code).toHaveLength(source.length)
})

test('gives the strings with their places', () => {
  const source = "import { a } from './b.js' // './c.js'\nf(\"d\")"
  expect(stringLiterals(sourceText(source))).toEqual([
    { at: source.indexOf("'./b"), value: './b.js' },
    { at: source.indexOf('"d'), value: 'd' },
  ])
})
