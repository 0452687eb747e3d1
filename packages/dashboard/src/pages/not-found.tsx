import { Link } from '@tanstack/react-router'
import { Door } from '../components/layout/door.js'

export const NotFoundPage = () => (
  <Door title="There is no such page" lead="The address may be mistyped, or the page may have moved.">
    <p>
      <Link to="/" className="button button-primary">
        Go to the overview
      </Link>
    </p>
  </Door>
)
