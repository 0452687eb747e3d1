import { Name } from '../../components/basic/text.js'
import { type Change, plainPath } from './leaf-values.js'
import { ShortValue } from './whole-arguments.js'

interface ChangesTableProps {
  readonly changes: readonly Change[]
  /** What the two columns are. */
  readonly before: string
  readonly now: string
}

/** Values side by side, of one call and of another. */
export const ChangesTable = ({ changes, before, now }: ChangesTableProps) => (
  <table className="table table-plain changes">
    <thead>
      <tr>
        <th scope="col">Argument</th>
        <th scope="col">{before}</th>
        <th scope="col">{now}</th>
      </tr>
    </thead>
    <tbody>
      {changes.map((change) => (
        <tr key={change.path}>
          <th scope="row">
            <Name value={plainPath(change.path)} />
          </th>
          <td data-label={before}>
            <ShortValue value={change.before} />
          </td>
          <td data-label={now} className="changes-now">
            <ShortValue value={change.now} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)
