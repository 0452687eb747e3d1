/** Dates and amounts inside a text, in a form that different spellings share. */
export interface Measures {
  /** `month-day`: years are left out, because people leave them out. */
  readonly dates: ReadonlySet<string>
  /** Numbers of two digits and more. */
  readonly numbers: ReadonlySet<string>
  /** Whole numbers that could be a day of a month, also single digits. */
  readonly days: ReadonlySet<string>
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const MONTH_NAME =
  /\b(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b/gi
const ISO_DAY = /\b\d{4}[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)/g
const SHORT_DAY = /\b(\d{1,2})[/.](\d{1,2})[/.]\d{2,4}\b/g
const ORDINAL = /\b(\d{1,2})(?:st|nd|rd|th)\b/gi
const BEFORE_MONTH = /(\d{1,2})(?:st|nd|rd|th|\.)?(?:\s+of)?\s+$/i
const AFTER_MONTH = /^\.?\s+(?:the\s+)?(\d{1,2})(?:st|nd|rd|th)?\b(?!:)/i
const NUMBER = /\d+(?:[.,']\d+)*/g
const GROUPED = /^\d{1,3}([.,'])\d{3}(?:\1\d{3})*(?:[.,]\d{1,2})?$/
/** More than anybody acts on, and a bound for what a long text may hold. */
const MOST = 2_000

export function measuresIn(text: string): Measures {
  const dates = new Set<string>()
  const numbers = new Set<string>()
  const days = new Set<string>()
  for (const [, month, day] of text.matchAll(ISO_DAY)) add(dates, dateKey(Number(month), Number(day)))
  for (const [, first, second] of text.matchAll(SHORT_DAY)) {
    add(dates, dateKey(Number(first), Number(second)))
    add(dates, dateKey(Number(second), Number(first)))
  }
  addNamedDays(text, dates)
  for (const [raw] of text.matchAll(NUMBER)) {
    if (numbers.size >= MOST) break
    const number = numberKey(raw)
    if (raw.length <= 2 && Number(raw) >= 1 && Number(raw) <= 31) days.add(number)
    if (isTelling(number)) numbers.add(number)
  }
  return { dates, numbers, days }
}

/** In a text that names a month, every ordinal is taken for a day of it: "from the 13th to the 17th of May". */
function addNamedDays(text: string, dates: Set<string>): void {
  const months = new Set<number>()
  for (const found of text.matchAll(MONTH_NAME)) {
    if (dates.size >= MOST) return
    const month = MONTHS.indexOf((found[0] as string).slice(0, 3).toLowerCase()) + 1
    const at = found.index
    const before = BEFORE_MONTH.exec(text.slice(Math.max(0, at - 12), at))
    const after = AFTER_MONTH.exec(text.slice(at + found[0].length, at + found[0].length + 12))
    // "May" is also a word: alone it says nothing.
    if (found[0] !== 'may') months.add(month)
    for (const day of [before?.[1], after?.[1]]) if (day !== undefined) add(dates, dateKey(month, Number(day)))
  }
  if (months.size === 0) return
  for (const [, day] of text.matchAll(ORDINAL)) {
    for (const month of months) add(dates, dateKey(month, Number(day)))
  }
}

function add(keys: Set<string>, key: string | null): void {
  if (key !== null && keys.size < MOST) keys.add(key)
}

const dateKey = (month: number, day: number): string | null =>
  month >= 1 && month <= 12 && day >= 1 && day <= 31 ? `${month}-${day}` : null

/** `1,000.50`, `1'000.5` and `1000.50` are one number. */
function numberKey(raw: string): string {
  const [, mark] = GROUPED.exec(raw) ?? []
  const whole = mark === undefined ? raw : raw.replaceAll(mark, '')
  const number = Number(whole.replace(',', '.'))
  return Number.isFinite(number) ? String(number) : raw
}

/** One digit is everywhere. */
export const isTelling = (number: string): boolean => number.replaceAll(/\D/g, '').length >= 2

/** What to look for of one value: a date by month and day, else its number. Null for a time of day and single digits. */
export function measureOf(value: string | number): { date: string | null; day: string | null; number: string | null } {
  if (typeof value === 'number') {
    const number = String(Math.abs(value))
    return { date: null, day: null, number: isTelling(number) ? number : null }
  }
  const { dates, numbers } = measuresIn(value)
  const [date] = dates
  if (date !== undefined) return { date, day: date.slice(date.indexOf('-') + 1), number: null }
  const [number] = /:/.test(value) ? [] : numbers
  return { date: null, day: null, number: number ?? null }
}
