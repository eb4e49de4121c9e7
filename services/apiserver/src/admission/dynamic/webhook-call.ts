import { badRequest, forbiddenError, StatusError } from '@holdfast/machinery';
import { type Clock, describeError, type Ids, type Log } from '@holdfast/platform';
import type { Remarks } from '../../audit/notes.ts';
import type { ObjectReader } from '../../cache/reader.ts';
import { WEBHOOK_MESSAGE_CHARS_MAX, WEBHOOK_TIMEOUT_SECONDS_DEFAULT } from '../../limits.ts';
import { cutText } from '../../service-calls/cut-text.ts';
import { WebhookCallError, type WebhookCaller } from '../../service-calls/port.ts';
import { targetOf } from '../../service-calls/webhook-target.ts';
import type { AdmissionMetrics, WebhookOutcome } from '../metrics.ts';
import type { Attributes } from './attributes.ts';
import type { CompiledWebhook } from './compiled-webhooks.ts';
import type { RequestValues } from './request-values.ts';
import { callFailed, denial, InvalidAnswer, type ReviewAnswer, readAnswer, reviewBody } from './review.ts';
import type { View, Views } from './views.ts';
import { type Invoked, noteLeftOut } from './webhook-notes.ts';

export interface CallDeps {
  readonly reader: ObjectReader;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: AdmissionMetrics;
  readonly webhooks: WebhookCaller;
}

/**
 * Returns the request in the version that the rules of the webhook name; `undefined` when the webhook is not called.
 * Throws when it cannot be converted, and when the conditions fail and the failure policy is Fail.
 */
export async function wantedView(
  hook: CompiledWebhook,
  attributes: Attributes,
  views: Views,
  metrics: AdmissionMetrics,
): Promise<View | undefined> {
  if (!hook.matcher.matches(attributes) || !(await hook.matcher.matchesNamespace(attributes))) return undefined;
  const view = await views.in(hook.matcher.equivalent(attributes));
  return (await meetsConditions(hook, attributes, view.values, metrics)) ? view : undefined;
}

async function meetsConditions(
  hook: CompiledWebhook,
  attributes: Attributes,
  values: RequestValues,
  metrics: AdmissionMetrics,
): Promise<boolean> {
  if (hook.conditions.isEmpty) return true;
  const result = await hook.conditions.evaluate(values);
  if (result === 'match') return true;
  if (result === 'noMatch') {
    metrics.conditionsExcluded(hook, attributes.operation);
    return false;
  }
  metrics.conditionsFailed(hook, attributes.operation);
  if (hook.webhook.failurePolicy === 'Ignore') return false;
  const { group, plural: resource } = attributes.definition;
  throw forbiddenError({ group, resource, name: attributes.name }, result.failed);
}

/**
 * Calls a webhook and applies its response: warnings, audit annotations, refusal. Returns `undefined` when the call
 * failed and the failure policy is Ignore.
 */
export async function consult(
  invoked: Invoked,
  attributes: Attributes,
  deps: CallDeps,
  remarks: Remarks,
): Promise<ReviewAnswer | undefined> {
  const { hook } = invoked;
  const { name, sideEffects } = hook.webhook;
  if (attributes.dryRun && sideEffects !== 'None' && sideEffects !== 'NoneOnDryRun') {
    throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);
  }
  const began = deps.clock.monotonic();
  const answered = (outcome: Omit<WebhookOutcome, 'seconds'>): void =>
    deps.metrics.webhookAnswered(hook, attributes.operation, {
      seconds: (deps.clock.monotonic() - began) / 1000,
      ...outcome,
    });
  try {
    const answer = await ask(hook, attributes, deps);
    const refusal = answer.allowed ? undefined : denial(name, answer.status);
    if (refusal === undefined) answered({ rejected: false, code: 200 });
    else answered({ rejected: true, code: refusal.code, fault: 'no_error' });
    heed(hook, answer, remarks);
    if (refusal !== undefined) throw new Refused(refusal);
    return answer;
  } catch (error) {
    if (error instanceof Refused) throw error.status;
    return failed({ invoked, error, answered }, deps, remarks);
  }
}

/** Tells the answer of a webhook from a failure of its call. */
class Refused extends Error {
  readonly status: StatusError;
  constructor(status: StatusError) {
    super(status.message);
    this.status = status;
  }
}

interface Failure {
  readonly invoked: Invoked;
  readonly error: unknown;
  readonly answered: (outcome: Omit<WebhookOutcome, 'seconds'>) => void;
}

const CALL_FAILED = 503;
const ANSWER_INVALID = 500;

function failed({ invoked, error, answered }: Failure, deps: CallDeps, remarks: Remarks): undefined {
  const { name, failurePolicy } = invoked.hook.webhook;
  const text = failureText(error);
  if (text === undefined) {
    answered({ rejected: true, code: 0, fault: 'apiserver_internal_error' });
    throw error;
  }
  const why = cutText(text, WEBHOOK_MESSAGE_CHARS_MAX);
  const rejected = failurePolicy !== 'Ignore';
  const code = error instanceof InvalidAnswer ? ANSWER_INVALID : CALL_FAILED;
  answered({ rejected, code, fault: 'calling_webhook_error' });
  if (rejected) throw callFailed(name, why);
  deps.metrics.webhookLeftOut(invoked.hook);
  noteLeftOut(remarks, invoked);
  deps.log.warn('a webhook failed and was skipped', { webhook: name, error: why });
  return undefined;
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

/** Passes on the warnings and audit annotations of a webhook, also of one that refuses. */
function heed({ webhook }: CompiledWebhook, { warnings, auditAnnotations }: ReviewAnswer, remarks: Remarks): void {
  for (const warning of warnings) remarks.warn(warning);
  for (const [key, value] of Object.entries(auditAnnotations)) {
    if (typeof value === 'string') remarks.audit?.annotate(`${webhook.name}/${key}`, value);
  }
}
