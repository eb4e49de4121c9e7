import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, MUTATING_WEBHOOK_CONFIGURATIONS, type ResourceDefinition } from '@holdfast/api';
import { isJsonObject, type JsonObject, StatusError } from '@holdfast/machinery';
import type { Remarks } from '../../audit/notes.ts';
import { type Attributes, asSent, attributesOf, isShown } from '../dynamic/attributes.ts';
import { type CompiledWebhook, WebhookSource } from '../dynamic/compiled-webhooks.ts';
import { invocationOf } from '../dynamic/reinvocation.ts';
import { callFailed, patched } from '../dynamic/review.ts';
import { decoded, Views } from '../dynamic/views.ts';
import { consult, wantedView } from '../dynamic/webhook-call.ts';
import { type Invoked, noteMutation, notePatch } from '../dynamic/webhook-notes.ts';
import type { AdmissionDeps, AdmissionPlugin, AdmissionRequest } from '../port.ts';

/** Calls the webhooks that may change an object, one after the other. */
export function createMutatingWebhooks(deps: AdmissionDeps): AdmissionPlugin {
  const source = new WebhookSource(MUTATING_WEBHOOK_CONFIGURATIONS, true, deps);
  return {
    name: 'MutatingAdmissionWebhook',
    handles: (request) => !source.isEmpty && isShown(request),
    admit: async (request) => {
      for (const [index, hook] of source.all().entries()) {
        if (hook.matcher.concerns(request)) await invoke({ hook, index }, request, deps);
      }
    },
    review: (attributes, remarks) => (source.isEmpty ? undefined : reviewAll(source.all(), attributes, deps, remarks)),
  };
}

/** What is not stored cannot be changed, only refused. */
async function reviewAll(
  hooks: readonly CompiledWebhook[],
  attributes: Attributes,
  deps: AdmissionDeps,
  remarks: Remarks,
): Promise<void> {
  const views = new Views(attributes, deps);
  for (const [index, hook] of hooks.entries()) {
    const view = await wantedView(hook, attributes, views, deps.metrics);
    if (view === undefined) continue;
    const answer = await consult({ hook, round: 0, index }, view.attributes, deps, remarks);
    const isChanged = Array.isArray(answer?.patch) && answer.patch.length > 0;
    if (isChanged && attributes.operation === 'CREATE') remarks.warn(unchangeable(hook, attributes));
  }
}

const unchangeable = ({ webhook }: CompiledWebhook, { kind }: Attributes): string =>
  `admission webhook ${JSON.stringify(webhook.name)}: its patch of the ${kind.kind} is ignored; webhooks can only refuse it`;

async function invoke(
  { hook, index }: Pick<Invoked, 'hook' | 'index'>,
  request: AdmissionRequest,
  deps: AdmissionDeps,
): Promise<void> {
  const attributes = attributesOf(request);
  const invocation = invocationOf(request);
  const before = JSON.stringify(attributes.object);
  const view = await wantedView(hook, attributes, new Views(attributes, deps), deps.metrics);
  if (view === undefined) return;
  if (invocation.isSecondRound && !isCalledAgain(hook, invocation.seen.get(hook.id), before)) return;
  invocation.seen.set(hook.id, before);
  const invoked: Invoked = { hook, index, round: invocation.isSecondRound ? 1 : 0 };
  noteMutation(request, invoked, false);
  const shown = view.attributes;
  const answer = await consult(invoked, shown, deps, request);
  if (answer === undefined) return;
  const { object } = request;
  if (answer.patch !== undefined && object !== undefined && shown.object !== null) {
    const json = applied(hook, shown.object, answer.patch);
    refuseOtherIdentity(hook, shown, json);
    if (request.representation !== undefined) request.representation.applyTo(object, json);
    else replaceBy(object, request.definition, await convertedBack(json, shown, request.definition, deps));
    notePatch(request, invoked, answer.patch);
  }
  const after = JSON.stringify(attributesOf(request).object);
  invocation.seen.set(hook.id, after);
  if (after === before) return;
  invocation.latest = after;
  noteMutation(request, invoked, true);
}

/** The second round is for webhooks of the first that want to see what others changed; no webhook is called in it for the first time. */
const isCalledAgain = ({ webhook }: CompiledWebhook, seen: string | undefined, now: string): boolean =>
  webhook.reinvocationPolicy === 'IfNeeded' && seen !== undefined && seen !== now;

function applied(hook: CompiledWebhook, object: JsonObject, patch: Parameters<typeof patched>[1]): JsonObject {
  try {
    return patched(object, patch);
  } catch (error) {
    const why = error instanceof StatusError ? error.body.message : String(error);
    throw callFailed(hook.webhook.name, `received invalid webhook response: ${why}`);
  }
}

/** A webhook may change the content of an object but not its identity: it would be stored under a foreign key. */
function refuseOtherIdentity(hook: CompiledWebhook, { object }: Attributes, json: JsonObject): void {
  const [before, after] = [object, json].map((each) => {
    const metadata = each?.['metadata'];
    return [each?.['apiVersion'], each?.['kind'], isJsonObject(metadata) ? metadata['namespace'] : null];
  });
  if (isDeepStrictEqual(before, after)) return;
  throw callFailed(
    hook.webhook.name,
    'received invalid webhook response: the patch changes apiVersion, kind or namespace',
  );
}

/** The result of a webhook in the version of the request. */
async function convertedBack(
  json: JsonObject,
  { definition: from }: Attributes,
  to: ResourceDefinition,
  { convert }: AdmissionDeps,
): Promise<KubeObject> {
  const object = decoded(json, from);
  return from === to ? object : decoded(asSent(await convert(object, { from, to }), to), to);
}

/** Replaces the object by the result of a webhook. Webhooks cannot change field ownership. */
function replaceBy(object: KubeObject, definition: ResourceDefinition, result: KubeObject): void {
  const { managedFields } = object.metadata;
  for (const key of Object.keys(object)) Reflect.deleteProperty(object, key);
  Object.assign(object, result);
  if (managedFields === undefined) delete object.metadata.managedFields;
  else object.metadata.managedFields = managedFields;
  definition.setDefaults(object);
}
