/** 1, 2, 4 … minutes apart: the last of ten tries is eight and a half hours after the first. */
export const retrySeconds = (attempts: number): number => 60 * 2 ** attempts

/** Tries of a mail, as many as of a message to a webhook. */
export const MAX_ATTEMPTS = 10
