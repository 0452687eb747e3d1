import { toolWords } from './argument-words.js'

/** Words in a form that `delete`, `deletes`, `deleted` and `deleting` share. */
export const stemOf = (word: string): string =>
  word.length <= 3
    ? word
    : word.replace(/(ations?|ments?|ings?|ers?|ed|es|s|e)$/, (end) => (word.length - end.length < 3 ? end : ''))

/** The words of a text by their stems; addresses count as what they are. */
export function stemsOf(text: string): Set<string> {
  const stems = new Set<string>()
  for (const [word] of text.toLowerCase().matchAll(WORD)) {
    if (stems.size >= MOST_WORDS) break
    stems.add(stemOf(word))
  }
  if (/\S@\S/.test(text)) for (const word of ['email', 'mail']) stems.add(stemOf(word))
  if (/https?:\/\/|\bwww\.|\w\.(com|org|net|io|dev|example)\b/i.test(text))
    for (const word of ['url', 'webpage', 'link']) stems.add(stemOf(word))
  if (/[$€£¥]\s?\d/.test(text)) for (const word of ['money', 'amount']) stems.add(stemOf(word))
  return stems
}

const WORD = /[\p{L}\p{N}]+/gu
const MOST_WORDS = 4_096

/** General English, a deed or a thing a line: what people call it when they ask for it. */
const DEEDS = synonyms(`
send mail email message write tell notify forward share reply inform text contact respond answer
create add make new schedule set put generate write open plan book start build draft
delete remove cancel drop erase clear kick revoke wipe
update change modify edit set adjust correct replace reset switch rename refresh fix increase raise
get read look find check show visit see open go browse summarize search fetch view access
reserve book stay
schedule plan set add create arrange
invite add join bring
add invite include join put append
post publish upload put write share
pay send transfer wire refund give settle
transfer move send give hand wire
exchange swap replace change switch
return refund
cancel delete remove call off
move put relocate transfer
copy duplicate backup
download get fetch save
click follow visit open go
login log sign
verify confirm check validate
share send give invite
buy order purchase get
archive store file
rename call name change
assign give
approve accept confirm
upload put attach
input enter fill type submit
`)
const THINGS = synonyms(`
email mail message note
message dm note text word greeting
money payment amount bill dollar euro invoice rent refund transaction
transaction payment transfer bill rent refund money standing order
event meeting appointment calendar reminder lunch dinner
calendar event meeting appointment schedule
hotel room stay accommodation
car rental vehicle
restaurant table dinner lunch
user person people member account name profile friend everyone
webpage website page site url link blog article web
url link website page webpage
file document txt doc report folder
node file folder directory
repo repository project
dir folder directory
info information detail address profile name phone
order purchase item
item product order
issue bug problem ticket
collaborator member people user person
`)

/** The first word of a line by the others; any other word by all lines in which it stands. */
function synonyms(table: string): {
  readonly firsts: ReadonlySet<string>
  readonly of: ReadonlyMap<string, Set<string>>
} {
  const lines = table
    .trim()
    .split('\n')
    .map((line) => line.split(' ').map(stemOf))
  const firsts = new Set(lines.map(([word = '']) => word))
  const of = new Map(lines.map(([word = '', ...others]) => [word, new Set(others)]))
  for (const line of lines) {
    for (const word of line.filter((other) => !firsts.has(other)))
      of.set(word, new Set([...(of.get(word) ?? []), ...line]))
  }
  return { firsts, of }
}

const LITTLE_WORDS = new Set('a an and by for from in into of on or the to through via with direct all'.split(' '))

/** 0 if the user's words name the tool's deed and half of its objects, 1 for one of the two, 2 for neither. */
export function mandateOf(tool: string, said: ReadonlySet<string>): 0 | 1 | 2 {
  const words = toolWords(tool).map(stemOf)
  const [first, known] = [
    words.findIndex((word) => DEEDS.firsts.has(word)),
    words.findIndex((word) => DEEDS.of.has(word)),
  ]
  const at = Math.max(0, first === -1 ? known : first)
  const deed = words[at]
  const objects = words.filter((word, index) => index !== at && !LITTLE_WORDS.has(word))
  const isNamed = (word: string, { of }: ReturnType<typeof synonyms>) =>
    said.has(word) || [...(of.get(word) ?? [])].some((other) => said.has(other))
  const namesDeed = deed !== undefined && isNamed(deed, DEEDS)
  const named = objects.filter((word) => isNamed(word, THINGS)).length
  const namesObject = named * 2 >= objects.length
  return namesDeed && namesObject ? 0 : namesDeed || (namesObject && objects.length > 0) ? 1 : 2
}

/** Turns of phrase with which a text tells its reader what to do. */
const IMPERATIVES = [
  'please',
  'you must',
  'you need to',
  'you should',
  'make sure',
  'important',
  'ignore',
  'before you',
  'after you',
  'do not',
  "don't",
  'instead',
  'immediately',
  'urgent',
  'instruction',
  'i need you',
  'follow these',
  'remember to',
]
const FUNCTION_WORDS = new Set(
  'the a an of to and in is it for on that this with as are was be by or from at you i we they he she not have has had will would can your my our their its there what which when who if so but no all do does did me us them'.split(
    ' ',
  ),
)

/** A text in which this share of its words is not English is one that this cannot read. */
const READABLE_SHARE = 0.08
const READABLE_WORDS = 12
/** As many as the most imperative text: what cannot be read is not passed for harmless. */
const UNREADABLE = 3
/** Looked at of one text, from its beginning and from its end. */
const LOOKED_AT = 16_384

/**
 * How many turns of phrase in one passage tell the reader what to do: a long text has some of them here and there. A
 * long text in another language counts as full of them.
 */
export function imperativesIn(text: string): number {
  const seen = text.length <= 2 * LOOKED_AT ? text : `${text.slice(0, LOOKED_AT)} ${text.slice(-LOOKED_AT)}`
  const lower = seen.toLowerCase()
  const count = mostInPassage(lower)
  if (count >= UNREADABLE) return count
  if (!isLanguage(lower)) return count
  const words = lower.match(LETTERS) ?? []
  const unspaced = (lower.match(UNSPACED_LETTER) ?? []).length
  if (words.length + unspaced / 2 < READABLE_WORDS) return count
  const known = words.filter((word) => FUNCTION_WORDS.has(word)).length
  return known < READABLE_SHARE * (words.length + unspaced / 2) ? UNREADABLE : count
}

/** Characters that are read together: what one writer tells another stands in a few paragraphs. */
const PASSAGE = 1_000

/** The most distinct turns of phrase that begin within one passage. */
function mostInPassage(text: string): number {
  const found = IMPERATIVES.flatMap((phrase) => placesOf(phrase, text))
  if (text.length <= PASSAGE) return new Set(found.map(({ phrase }) => phrase)).size
  found.sort((a, b) => a.at - b.at)
  const inside = new Map<string, number>()
  let [most, first] = [0, 0]
  for (const { phrase, at } of found) {
    inside.set(phrase, (inside.get(phrase) ?? 0) + 1)
    for (let left = found[first]; left !== undefined && left.at <= at - PASSAGE; left = found[++first]) {
      const count = (inside.get(left.phrase) ?? 1) - 1
      if (count > 0) inside.set(left.phrase, count)
      else inside.delete(left.phrase)
    }
    most = Math.max(most, inside.size)
  }
  return most
}

function placesOf(phrase: string, text: string): { phrase: string; at: number }[] {
  const places: { phrase: string; at: number }[] = []
  for (let at = text.indexOf(phrase); at !== -1; at = text.indexOf(phrase, at + phrase.length))
    places.push({ phrase, at })
  return places
}

/** Listings, code and keys are no language, and give no orders. */
function isLanguage(text: string): boolean {
  const letters = text.match(/[\p{L}\p{M} ]/gu)?.length ?? 0
  return letters >= LANGUAGE_SHARE * text.length
}

const LANGUAGE_SHARE = 0.85

const LETTERS = /[\p{L}']{1,40}/gu
const UNSPACED_LETTER = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}]/gu
