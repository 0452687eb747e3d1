import type { Handlers } from '../context/context.js'
import { answerQuestion, answerQuestions } from './answer-question.js'
import { askAgain, listQuestions, loadQuestion } from './list-questions.js'
import { questionStats } from './question-stats.js'
import { listSessionQuestions, withdrawQuestion } from './session-questions.js'

/** Questions to people about calls. */
export const questionHandlers = {
  listQuestions,
  loadQuestion,
  answerQuestion,
  answerQuestions,
  askAgain,
  questionStats,
  listSessionQuestions,
  withdrawQuestion,
} satisfies Partial<Handlers>
