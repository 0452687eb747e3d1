import { Link } from '@tanstack/react-router'
import { Door } from '../components/layout/door.js'

export const NotFoundPage = () => (
  <Door title="Page not found" lead="The address may be mistyped, or the page may have moved.">
    <p>
      <Link to="/" className="button button-primary">
        Go to the overview
      </Link>
    </p>
  </Door>
)
