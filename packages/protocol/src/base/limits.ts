/** Every number that bounds something, once. Units are in the names. */
export const LIMITS = {
  activeKeysPerTenant: 5,
  idLength: 128,
  toolNameLength: 256,
  bodyBytes: 1024 * 1024,
  openBodyBytes: 16 * 1024,
  bodySeconds: 15,
  headerLines: 100,
  queryLength: 8_192,
  bodyValues: 200_000,
  bodyNames: 20_000,
  jsonDepth: 64,
  capturesPerBatch: 1_000,
  callsPerProposal: 64,
  findableIds: 65,
  argumentBytesPerCall: 128 * 1024,
  toolsPerPreflight: 256,
  toolPinsPerServer: 2_048,
  shownToolPins: 100,
  failuresPerRule: 32,
  receiptsPerBatch: 64,
  lateReceiptsPerCall: 3,
  planBytes: 512 * 1024,
  entriesPerList: 256,
  conditionsPerRule: 16,
  valuesPerBoundCondition: 64,
  labelLength: 128,
  labelsPerSession: 128,
  bindingsPerSession: 64,
  aggregatesPerSession: 256,
  countedToolNamesPerSession: 256,
  witnessesPerPrecondition: 64,
  termsPerPlan: 256,
  versionsPerTool: 16,
  keysPerName: 256,
  rowsPerBinding: 256,
  keysPerSession: 1_024,
  keyLength: 1_024,
  sharedLimitsPerPlan: 32,
  sharedLimitWindowDays: 366,
  sharedLimitBuckets: 30,
  loopWindow: 100,
  callsPerMinuteWindow: 600,
  principalBytes: 8 * 1024,
  principalTokenLength: 8 * 1024,
  principalTokenMinutes: 60,
  principalClockSkewSeconds: 60,
  issuersPerTenant: 8,
  issuerKeysBytes: 128 * 1024,
  issuerKeysSeconds: 600,
  issuerKeysTimeoutMs: 3_000,
  issuerKeysRetrySeconds: 30,
  preparedRequestMinutes: 60,
  leaseSeconds: 120,
  resourceHoldAfterKillSeconds: 600,
  rolesPerWorkflow: 32,
  sessionsPerWorkflow: 32,
  handoffsPerWorkflow: 256,
  heldResourcesPerWorkflow: 1_024,
  workflowBytes: 256 * 1024,
  checkpointTriggersPerSession: 10,
  checkpointTimeoutMinSeconds: 30,
  checkpointTimeoutMaxSeconds: 3_600,
  checkpointTimeoutDefaultSeconds: 300,
  askWindowMinSeconds: 30,
  askWindowMaxDays: 30,
  askCount: 5,
  askReminders: 4,
  askSteps: 3,
  editsPerAsk: 16,
  approvalMinutes: 60,
  openQuestionsPerTenant: 1_000,
  answersPerRequest: 100,
  answersPerMinutePerMember: 60,
  noteLength: 1_000,
  questionWaitSeconds: 25,
  questionWaitsPerTenant: 64,
  noticeMailsPerHour: 20,
  noticeMailMinutes: 10,
  webhooksPerTenant: 8,
  webhookTimeoutMs: 10_000,
  webhookTries: 10,
  webhookOldSecretHours: 24,
  webhookFailingDays: 3,
  maxRetries: 5,
  maxRetriesDefault: 0,
  maxUnguardedCallsDefault: 3,
  observeBufferDefault: 100,
  observeBufferMax: 1_000,
  observeFlushMsDefault: 5_000,
  observeTimeoutMsDefault: 5_000,
  observeTimeoutMsMax: 10_000,
  breakerFailures: 5,
  breakerMinutes: 10,
  accessTokenMinutes: 15,
  refreshTokenDays: 7,
  refreshTokenRetentionDays: 30,
  resetTokenMinutes: 60,
  verificationTokenHours: 24,
  invitationDays: 7,
  groupsPerMember: 32,
  signupsPerHourPerIp: 5,
  forgotPasswordPerHourPerEmail: 3,
  resendVerificationPerHour: 3,
  mediumConfidenceSamples: 5,
  highConfidenceSamples: 10,
} as const

/**
 * What a tenant may use. Rates are requests a minute, runs are per rolling 30 days, and bytes are those of request bodies
 * a day. `write` is the bucket of all POST requests, and `read` that of all GET requests, that have none of their own.
 */
export interface QuotaNumbers extends Readonly<Partial<Record<OwnBucket, number>>> {
  readonly write: number
  readonly read: number
  readonly runs: number
  readonly bytes: number
}

/** Buckets that a quota may have for some requests, so that others use up nothing of what these need. */
export const OWN_BUCKETS = ['proposal', 'capture', 'evidence', 'dashboard'] as const
export type OwnBucket = (typeof OWN_BUCKETS)[number]
export type Bucket = 'write' | 'read' | OwnBucket
export const BUCKETS = ['write', 'read', ...OWN_BUCKETS] as const satisfies readonly Bucket[]

export const QUOTA_NAMES = ['free', 'team', 'scale'] as const
export type Quota = (typeof QUOTA_NAMES)[number]

export const QUOTAS: Readonly<Record<Quota, QuotaNumbers>> = {
  free: { write: 30, read: 120, runs: 100, bytes: 500_000_000 },
  team: {
    ...{ write: 3_000, read: 12_000, proposal: 6_000, capture: 3_000, evidence: 6_000, dashboard: 1_200 },
    runs: 5_000,
    bytes: 50_000_000_000,
  },
  scale: {
    ...{ write: 120_000, read: 240_000, proposal: 240_000, capture: 120_000, evidence: 240_000, dashboard: 6_000 },
    runs: 100_000,
    bytes: 2_000_000_000_000,
  },
}

export interface RateBucket {
  readonly bucket: Bucket
  readonly perMinute: number
}

/** The bucket that a request draws from. Null: what stops draws from none, so that no quota refuses it. */
export function bucketFor(quota: QuotaNumbers, { method, throttle }: Throttled): RateBucket | null {
  if (throttle === 'stop') return null
  const own = throttle === 'none' ? undefined : quota[throttle]
  if (throttle !== 'none' && own !== undefined) return { bucket: throttle, perMinute: own }
  const bucket = method === 'GET' ? 'read' : 'write'
  return { bucket, perMinute: quota[bucket] }
}

/** How a route is limited. */
export interface Throttled {
  readonly method: string
  /** Its bucket, where the quota has that; `stop`: no quota limits it; `none`: the operation has limits of its own. */
  readonly throttle: Bucket | 'stop' | 'none'
}

/** Confidence in a learned contract, by how many calls it was learned from. */
export function confidenceOf(samples: number): 'low' | 'medium' | 'high' {
  if (samples >= LIMITS.highConfidenceSamples) return 'high'
  return samples >= LIMITS.mediumConfidenceSamples ? 'medium' : 'low'
}
