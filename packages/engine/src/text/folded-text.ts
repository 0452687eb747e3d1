/**
 * Text in which what a reader may pass over is alike: case, the form of Unicode, blanks at the ends, and invisible
 * characters. Null: so many marks in a row that putting them in order would take long.
 */
export function foldedText(text: string): string | null {
  const seen = seenText(text)
  return seen === null ? null : folded(isAscii(seen) ? seen : seen.normalize('NFKC'))
}

/** A text as a person sees it: without invisible characters and blanks at its ends, in one form of Unicode. Null as above. */
function seenText(text: string): string | null {
  if (isAscii(text)) return text.trim()
  const seen = text.replaceAll(UNSEEN, '')
  for (const [marks] of seen.matchAll(MARKS)) if (marks.length > MOST_MARKS) return null
  return seen.normalize('NFC').trim()
}

/**
 * The same for a name. Here letters and digits alone are alike in other widths, and one letter is never two: m² is not m2,
 * and Maße is not Masse.
 */
export function foldedName(name: string): string | null {
  const seen = seenText(name)
  if (seen === null) return null
  return isAscii(seen) ? seen.toLowerCase() : seen.replaceAll(LETTERS, foldedLetter)
}

const LETTERS = /[\p{L}\p{Nd}]/gu

function foldedLetter(letter: string): string {
  const plain = letter.normalize('NFKC')
  const upper = plain.toUpperCase()
  return (upper.length === plain.length ? upper : plain).toLowerCase()
}

/** Some letters are alike only in one of the two cases. */
const folded = (text: string): string => text.trim().toLowerCase().toUpperCase()

/** Whether a text holds an invisible character, such as a zero-width space, a soft hyphen or a control. */
export const holdsUnseen = (text: string): boolean => !isAscii(text) && text.search(UNSEEN) !== -1

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

/** What NFKC takes for marks on the character before them. */
const MARKS = /[\p{M}\uff9e\uff9f]+/gu
/** As in Unicode's Stream-Safe Text Format. No language needs more than a few. */
const MOST_MARKS = 30

/** Printed ASCII, as nearly all names are. */
function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < FIRST_PRINTED || code > LAST_PRINTED) return false
  }
  return true
}

const FIRST_PRINTED = 0x20
const LAST_PRINTED = 0x7e
