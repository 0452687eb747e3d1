import { changeWebhook, createWebhook, removeWebhook, rollWebhookSecret } from './change-webhooks.js'
import { listWebhookDeliveries, listWebhooks } from './list-webhooks.js'
import { testWebhook } from './test-webhook.js'

/** Addresses that are told about questions, for owners. */
export const webhookHandlers = {
  listWebhooks,
  createWebhook,
  changeWebhook,
  rollWebhookSecret,
  testWebhook,
  listWebhookDeliveries,
  removeWebhook,
}
