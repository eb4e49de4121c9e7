import { badRequest, forbiddenError, StatusError } from '@holdfast/machinery';
import { type Clock, describeError, type Ids, type Log } from '@holdfast/platform';
import { WEBHOOK_TIMEOUT_SECONDS_DEFAULT } from '../../limits.ts';
import type { ObjectReader } from '../../reader.ts';
import { WebhookCallError, type WebhookCaller } from '../../service-calls/port.ts';
import { targetOf } from '../../service-calls/webhook-target.ts';
import type { Attributes } from './attributes.ts';
import type { CompiledWebhook } from './compiled-webhooks.ts';
import type { RequestValues } from './request-values.ts';
import { callFailed, denial, InvalidAnswer, type ReviewAnswer, readAnswer, reviewBody } from './review.ts';

export interface CallDeps {
  readonly reader: ObjectReader;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly log: Log;
  readonly webhooks: WebhookCaller;
}

/** Whether a webhook is called for a request. Throws when its conditions fail and it may not be left out. */
export async function isWanted(hook: CompiledWebhook, attributes: Attributes, values: RequestValues): Promise<boolean> {
  if (!hook.matcher.matches(attributes) || !(await hook.matcher.matchesNamespace(attributes))) return false;
  if (hook.conditions.isEmpty) return true;
  const result = await hook.conditions.evaluate(values);
  if (typeof result === 'string') return result === 'match';
  if (hook.webhook.failurePolicy === 'Ignore') return false;
  const { group, plural: resource } = attributes.definition;
  throw forbiddenError({ group, resource, name: attributes.name }, result.failed);
}

/** Calls a webhook. Undefined when it failed and may be left out. */
export async function callWebhook(
  hook: CompiledWebhook,
  attributes: Attributes,
  deps: CallDeps,
): Promise<ReviewAnswer | undefined> {
  const { name, sideEffects, failurePolicy } = hook.webhook;
  if (attributes.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun') {
    throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);
  }
  try {
    return await ask(hook, attributes, deps);
  } catch (error) {
    const why = failureText(error);
    if (why === undefined) throw error;
    if (failurePolicy !== 'Ignore') throw callFailed(name, why);
    deps.log.warn('a webhook failed and was left out', { webhook: name, error: why });
    return undefined;
  }
}

async function ask(hook: CompiledWebhook, attributes: Attributes, deps: CallDeps): Promise<ReviewAnswer> {
  const { webhook, reviewVersion } = hook;
  const seconds = webhook.timeoutSeconds ?? WEBHOOK_TIMEOUT_SECONDS_DEFAULT;
  const uid = deps.ids.uuid();
  const target = await targetOf(webhook.clientConfig, deps, `timeout=${seconds}s`);
  const text = await deps.webhooks.call(target, reviewBody(attributes, uid, reviewVersion), seconds * 1000);
  return readAnswer(text, uid, reviewVersion, hook.isMutating);
}

function failureText(error: unknown): string | undefined {
  if (error instanceof WebhookCallError) return `failed to call webhook: ${error.message}`;
  if (error instanceof InvalidAnswer) return `received invalid webhook response: ${error.message}`;
  return error instanceof StatusError ? undefined : `failed to call webhook: ${describeError(error)}`;
}

/** Passes the warnings on; throws when the webhook refuses. */
export function heed(hook: CompiledWebhook, answer: ReviewAnswer, warn: (text: string) => void): void {
  for (const warning of answer.warnings) warn(warning);
  if (!answer.allowed) throw denial(hook.webhook.name, answer.status);
}
