import { cursorOf, learnCaptures } from '../../captures/learn-captures.js'
import { expireQuestions } from '../../questions/end-questions.js'
import { judgeWaitingRun } from '../../runs/judge-run.js'
import { countDecisions } from '../../store/dashboard/decision-counts.js'
import { renewSecrets } from '../../webhooks/renew-secrets.js'
import { sendDueWebhooks } from '../../webhooks/send-webhooks.js'
import { expireOffers } from '../../workflows/expire-offers.js'
import type { Job, SharedJob } from './job.js'
import { RETENTIONS, retentionJob } from './retentions.js'
import { noticesJob } from './send-notices.js'
import { signHeadsJob } from './sign-heads.js'
import { watchRatesJob } from './watch-rates.js'

const decisionCountsJob: Job = {
  name: 'decision-counts',
  everySeconds: 60,
  run: countDecisions,
}

const learningJob: SharedJob = {
  name: 'learning',
  shared: true,
  ownLane: true,
  run: async (services) => (await learnCaptures(services, cursorOf(services.database))) > 0,
}

/** Runs are judged as soon as they are started; this is for those whose instance went away. */
const runsJob: SharedJob = { name: 'runs', shared: true, ownLane: true, run: judgeWaitingRun }

const expireOffersJob: SharedJob = {
  name: 'expire-offers',
  shared: true,
  ownLane: true,
  run: async (services) => (await expireOffers(services)) > 0,
}

const expireQuestionsJob: SharedJob = {
  name: 'expire-questions',
  shared: true,
  ownLane: true,
  run: async (services) => (await expireQuestions(services)) > 0,
}

/** Beside the mails: an address that does not answer keeps no person waiting. */
const webhooksJob: SharedJob = { name: 'send-webhooks', shared: true, ownLane: true, run: sendDueWebhooks }

const secretsJob: Job = { name: 'webhook-secrets', everySeconds: 3_600, run: renewSecrets }

/** Everything that is done in the background, in the order of a round. */
export const JOBS: readonly (Job | SharedJob)[] = [
  ...RETENTIONS.map(retentionJob),
  signHeadsJob,
  decisionCountsJob,
  watchRatesJob,
  expireOffersJob,
  expireQuestionsJob,
  noticesJob,
  webhooksJob,
  secretsJob,
  learningJob,
  runsJob,
]
