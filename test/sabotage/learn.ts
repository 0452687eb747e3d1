import type { Bugs } from './sabotages.js'

/** What is learned from captures, and how a learned plan judges. */
export const learnSabotages: Bugs = {
  'packages/engine/src/learn/side-effect.ts': [
    {
      breaks: 'contract.init.asks',
      from: 'isKnown: effect !== null }',
      to: 'isKnown: true }',
    },
    {
      breaks: 'contract.init.asks',
      from: 'things.has(word) || things.has(singular(word))',
      to: 'things.has(word)',
    },
  ],
  'packages/engine/src/judge/rules/sources.ts': [
    {
      breaks: 'learn.dictated',
      from: "(part.kind !== 'date' && part.kind !== 'number')",
      to: "part.kind !== 'number'",
    },
    {
      breaks: 'learn.lone-values',
      from: "source.seen === 'prose' || (kind !== 'prose' && isProseCell(source, context))",
      to: "source.seen === 'prose'",
    },
    {
      breaks: 'learn.quoted',
      from: 'if (sources.length === 0 || !isQuotable(leaf.value)) return null',
      to: 'if (sources.length > 0 || !isQuotable(leaf.value)) return null',
    },
  ],
  'packages/engine/src/contract/source-rule.ts': [
    {
      breaks: 'learn.descriptive-columns',
      from: "return holds === null || holds.includes('prose')",
      to: "return holds === null || holds.includes('prose') || holds.includes('phrase')",
    },
  ],
  'packages/engine/src/contract/surprise.ts': [
    {
      breaks: 'learn.unusual',
      from: 'if (!isUnnamed && scoreOf(read, weights) < threshold - EPSILON) return null',
      to: 'if (!isUnnamed) return null',
    },
    { breaks: 'learn.unused-tool', from: 'weights.unused === true && read.mandate > 0', to: 'weights.unused === true' },
    {
      breaks: 'learn.orders',
      from: 'const IMPERATIVE_FROM = [1, 2, 4] as const',
      to: 'const IMPERATIVE_FROM = [1, 2, 40] as const',
    },
  ],
  'packages/engine/src/judge/checkpoint.ts': [
    {
      breaks: 'learn.one-question',
      from: "if (unusual !== null) reasons.push(unusual, ...remediesOf(violationsThat('note')))",
      to: "if (unusual !== null && asked.length === 0) reasons.push(unusual, ...remediesOf(violationsThat('note')))",
    },
  ],
  'packages/engine/src/flows/signs.ts': [
    {
      breaks: 'learn.other-languages',
      from: 'return known < READABLE_SHARE * (words.length + unspaced / 2) ? UNREADABLE : count',
      to: 'return count',
    },
    { breaks: 'learn.passages', from: 'const PASSAGE = 1_000', to: 'const PASSAGE = 1_000_000' },
  ],
  'packages/engine/src/flows/argument-words.ts': [
    { breaks: 'learn.spelling', from: "parts.slice(parts[0] === 'mcp' ? 2 : 1)", to: 'parts.slice(0)' },
  ],
  'packages/engine/src/flows/result-text.ts': [{ breaks: 'learn.formats', from: 'parseJsonLines(text) ?? ', to: '' }],
  'packages/engine/src/flows/request-words.ts': [
    { breaks: 'learn.witnesses', from: 'const SAME_REQUEST = 0.7', to: 'const SAME_REQUEST = 1.1' },
    { breaks: 'learn.any-key', from: '^ seeds[2])) >>> 8', to: '^ seeds[2])) >>> 28' },
  ],
  'packages/engine/src/learn/draft-sources.ts': [
    { breaks: 'learn.invented', from: '      .filter((kind) => !isActionable(kind))\n', to: '' },
  ],
  'packages/engine/src/learn/draft.ts': [
    { breaks: 'learn.default-rule', from: 'return [...rules, defaultSource(learning)]', to: 'return rules' },
    {
      breaks: 'learn.openings-shown',
      from: ".filter((origin) => typeof origin === 'object' && 'result' in origin)",
      to: ".filter((origin) => typeof origin === 'object' && 'result' in origin && origin.as === 'cell')",
    },
    { breaks: 'learn.scores-confidence', from: 'confidence: confidenceOf(samples)', to: "confidence: 'low'" },
    { breaks: 'learn.generates-contracts', from: '...byTool.keys(), ...offered.keys()', to: '...offered.keys()' },
  ],
  'packages/engine/src/learn/plan-rates.ts': [
    {
      breaks: 'learn.rates.shown',
      from: '({ alpha: choice, asked: share })',
      to: '({ alpha, asked: choice * share })',
    },
    {
      breaks: 'learn.rates.kept',
      from: 'drift: use === null ? null : driftOf(promised, requests, use)',
      to: 'drift: null',
    },
  ],
  'packages/engine/src/learn/summary.ts': [
    { breaks: 'learn.updates-confidence', from: '  summary.samples++\n', to: '  summary.samples = 1\n' },
  ],
  'packages/engine/src/backtest/learned-rates.ts': [
    {
      breaks: 'learn.rates',
      from: 'learn(sessions.filter((session) => !isOwn(session)))',
      to: 'learn(sessions)',
    },
  ],
  'packages/engine/src/backtest/self-test.ts': [
    {
      breaks: 'learn.doubtful',
      from: 'doubtful.size === 0 ? first : measureWithout(doubtful, summaries, sessions, options)',
      to: 'first',
    },
  ],
  'packages/engine/src/backtest/demote-rules.ts': [
    { breaks: 'learn.demoted.rule', from: '      return asking(rule)\n', to: '      return rule\n' },
    {
      breaks: 'learn.demoted',
      from: 'if (shareOfRequests(all, fires) > MOST_FIRED)',
      to: 'if (shareOfRequests(all, fires) > 1)',
    },
  ],
}
