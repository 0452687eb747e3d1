import { Link } from '@tanstack/react-router'
import { Name } from '../../components/basic/text.js'

/** To what people are asked, and what they said. */
export const QuestionLink = ({ questionId }: { questionId: string }) => (
  <p className="call-note">
    <Link to="/questions/$questionId" params={{ questionId }}>
      Question <Name value={questionId} />
    </Link>
  </p>
)
