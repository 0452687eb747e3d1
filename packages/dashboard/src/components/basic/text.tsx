import { visibleText } from '../../text/visible-text.js'

interface TextProps {
  readonly value: string
  readonly className?: string
  readonly lines?: boolean
}

/** Text from users and models, isolated from its surroundings, with invisible characters made visible. */
export function Text({ value, className, lines = false }: TextProps) {
  const parts = visibleText(value, lines ? 'lines' : 'nothing')
  return (
    <bdi className={className}>
      {parts.map((part, index) =>
        part.escaped ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text have no other identity
          <span key={index} className="acting-character" title="An invisible or direction-changing character">
            {part.text}
          </span>
        ) : (
          part.text
        ),
      )}
    </bdi>
  )
}

/** A name as programs know it: a tool, an id, a path. */
export const Name = ({ value }: { value: string }) => <Text value={value} className="name" />
