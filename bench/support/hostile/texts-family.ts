import type { Contract } from '@countersign/protocol'
import type { Family } from '../../../test/support/hostile/request.js'
import { callsOf, FIXED, gene, oneOf, TOOL, VALUES } from '../../../test/support/hostile/values.js'

/** A language in which a plan says something. What is wrong in it takes time too, so most texts are. */
interface Language {
  readonly name: string
  readonly pieces: readonly string[]
  /** What may stand before and after them. */
  readonly around: readonly (readonly [string, string])[]
  readonly most: number
  contract(text: string): Partial<Contract>
}

const policy: Language = {
  name: 'policies',
  pieces: [
    ...[' ', '\n', '\t', '\r', '//\n', '//"\r', '\u00a0', 'é', '\\', '"', '"\\u{1f600}"', '@a("b")', '#', '\\*', '\\0'],
    ...['{a:', '}', '[', ']', '(', ')', '{"a":1},', '[[1]],', 'a', 'a.', 'a::', '::', 'a::"b",', '.a', '["a"]', '.a()'],
    ...['1', '9223372036854775808', '-', '!', '+', '*', '=', '==', '<', '&&', '||', ',', ';', '?principal', '?slot'],
    ...['if true then ', 'else ', ' in ', ' has a.b', ' like "*a*"', ' is A', 'ip("1.2.3.4")', 'decimal("1.0")', '&&!'],
    ...[
      'when {true}',
      'unless {',
      'permit(principal,action,resource);',
      'forbid(',
      'principal',
      'context',
      'action == ',
    ],
  ],
  around: [
    ['', ''],
    ['permit(principal,action,resource)', ';'],
    ['permit(principal,action,resource) when {', '};'],
    ['permit(principal,action,resource) when { context.arguments.w == [', '] };'],
    ['permit(principal,action,resource) when { context.arguments.w == "', '" };'],
    ['permit(principal,action,resource) when { context.arguments.w like "', '" };'],
    ['permit(principal,action,resource) when { context.arguments.v like //\n"*', 'b" };'],
    ['permit(principal,action,resource) when { context.arguments.v //\n.contains("', '") };'],
    ['permit(principal,action,resource); //', ''],
    ['@note("', '") permit(principal,action,resource);'],
    ['permit(', ');'],
    ['permit(principal,action in [', '],resource);'],
  ],
  most: 65_536,
  contract: (cedar) => ({ policy: { cedar } }),
}

const path: Language = {
  name: 'paths',
  pieces: [
    ...[
      '.a',
      '..a',
      '..*',
      '.*',
      '[*]',
      '[0]',
      '[-1]',
      '[1:2:3]',
      '[::-1]',
      "['a']",
      '["a"]',
      "['\\u00e9']",
      "['\\'']",
    ],
    ...[
      '[?',
      ']',
      '(',
      ')',
      '!',
      '@',
      '@.a',
      '$.a',
      '$..a',
      '==',
      '!=',
      '<=',
      '&&',
      '||',
      ',',
      ' ',
      '\n',
      '\r',
      "'",
      '"',
    ],
    ...[
      '1',
      '1e3',
      '-0.1e-9',
      'true',
      'null',
      "'x'",
      'length(',
      'count(',
      'match(',
      'search(',
      'value(',
      "'[ab]*c'",
      'é',
    ],
    ...[
      '\\',
      '\\u',
      '\ud83d\ude00',
      '99999999999999999999',
      '[?@.a]',
      '[?@.a==1]',
      "[?match(@,'a*')]",
      '[?count(@.*)>1]',
    ],
  ],
  around: [
    ['$', ''],
    ['$.v', ''],
    ['$[', ']'],
    ['$[?', ']'],
    ["$['", "']"],
    ['$.v[?@.a==', ']'],
    ["$.v[?match(@.a,'", "')]"],
    ['$.v[?(', ')]'],
  ],
  most: 1_024,
  contract: (text) => ({ argument_value_invariants: [{ path: text, exists: true }] }),
}

/** Every second character, so that none joins the next. */
const MANY_RANGES = Array.from({ length: 1_900 }, (_, at) => String.fromCharCode(0x4e00 + at * 2)).join('')

const regex: Language = {
  name: 'regular expressions',
  pieces: [
    ...[
      'a',
      '.',
      '*',
      '+',
      '?',
      '*?',
      '{1,9}',
      '{900}',
      '{0,}',
      '(',
      ')',
      '(?:',
      '(?i:',
      '(?P<a>',
      '|',
      'a|',
      '(a|b)*',
    ],
    ...[
      '[a-z]',
      '[^a]',
      '[',
      ']',
      '[[:alpha:]]',
      '[^',
      '-',
      '\\w',
      '\\W',
      '\\d',
      '\\s',
      '\\b',
      '\\B',
      '\\p{L}',
      '\\P{Lu}',
    ],
    ...[
      '\\x{10ffff}',
      '\\x41',
      '\\1',
      '\\Q',
      '\\E',
      '\\',
      '^',
      '$',
      'é',
      '\ud83d\ude00',
      ' ',
      '\n',
      '(a*)*',
      '(.*)',
      'a{1,9}',
    ],
    ...['x{0,1000}', '{1000}', '(){0,1000}', '(?i){30}', '\\Q[\\E', '\\pL', MANY_RANGES, `[${MANY_RANGES}]{1000}`],
  ],
  around: [
    ['', ''],
    ['^', '$'],
    ['(', ')'],
    ['(', '){9}'],
    ['[', ']'],
    ['(?i)', ''],
    ['(?:', '|b)*c'],
    ['(?i)[', ']'],
    ['(?i)[^', ']{9}'],
    ['((((', ')*)+)?){3}'],
    ['\\Q[\\E', ''],
    ['[', ']{1000}'],
    ['(?:', '){1000}'],
  ],
  most: 4_096,
  contract: (text) => ({ argument_value_invariants: [{ path: '$..*', regex: text }] }),
}

const pattern: Language = {
  ...regex,
  name: 'patterns of schemas',
  contract: (text) => ({ arguments: { patternProperties: { [text]: { pattern: text } } } }),
}

const familyOf = ({ name, pieces, around, most, contract }: Language): Family => ({
  name: `texts of ${name}`,
  genes: {
    around: [0, around.length - 1],
    piece: [0, pieces.length - 1],
    piece2: [0, pieces.length - 1],
    first: [0, pieces.length - 1],
    firsts: [0, 2],
    each: [1, 64],
    length: [1, most],
    value: [0, VALUES.length - 1],
    size: [1, 64_000],
    calls: [1, 4],
  },
  build: (genes) => {
    const [before, after] = oneOf(around, genes.around)
    const unit = oneOf(pieces, genes.piece).repeat(gene(genes, 'each')) + oneOf(pieces, genes.piece2)
    const inside = unit.repeat(Math.ceil(gene(genes, 'length') / unit.length))
    const begin = before + oneOf(pieces, genes.first).repeat(gene(genes, 'firsts'))
    const text = `${begin}${inside.slice(0, Math.max(0, most - begin.length - after.length))}${after}`
    return { contracts: [{ tool: TOOL, ...FIXED, ...contract(text) }], calls: callsOf(genes), principal: { id: 'p' } }
  },
})

export const texts: readonly Family[] = [policy, path, regex, pattern].map(familyOf)
