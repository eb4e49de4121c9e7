import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type KubeObject,
  type ResourceDefinition,
  type WebhookClientConfig,
} from '@holdfast/api';
import { unclassifiedError } from '@holdfast/machinery';
import { type CachedObject, ConvertedObject } from '../cache/cached-object.ts';
import { encodeStored } from '../cache/stored-json.ts';
import type { Core } from '../core.ts';
import {
  CONVERSION_BATCH_CHARS,
  CONVERSION_BATCH_OBJECTS,
  CONVERSION_MESSAGE_CHARS_MAX,
  CONVERSION_ROUNDS_MAX,
  CONVERSION_TIMEOUT_MS,
} from '../limits.ts';
import type { ConversionFailure } from '../metrics/api-metrics.ts';
import { groupVersion } from '../objects/object-keys.ts';
import { asStored, isShownAlready, rememberShown, storedReading, versionOf } from '../objects/stored-object.ts';
import { cutText } from '../service-calls/cut-text.ts';
import { WebhookCallError } from '../service-calls/port.ts';
import { targetOf } from '../service-calls/webhook-target.ts';
import { checkedObject, convertedObjects, isFault } from './converted-objects.ts';

/** Has to be waited for before `asServed` shows these; `undefined` where no webhook is needed. */
export function convertAhead(
  core: Core,
  definition: ResourceDefinition,
  stored: readonly CachedObject[],
): Promise<void> | undefined {
  if (definition.custom?.conversion !== 'Webhook') return undefined;
  const due = stored.filter(
    (each) => versionOf(each.object) !== definition.version && !isShownAlready(definition, each),
  );
  return due.length === 0 ? undefined : convertAll(core, definition, due);
}

/** Repeats until all current objects are converted: others may change during a webhook call. */
export async function convertCandidates(
  core: Core,
  definition: ResourceDefinition,
  candidates: () => readonly CachedObject[],
): Promise<void> {
  for (let round = 0; round < CONVERSION_ROUNDS_MAX; round++) {
    const converting = convertAhead(core, definition, candidates());
    if (converting === undefined) return;
    await converting;
  }
  throw unclassifiedError(
    `conversion webhook for ${definition.kind} is slower than its objects change: select by other fields or by labels`,
  );
}

async function convertAll(core: Core, definition: ResourceDefinition, due: readonly CachedObject[]): Promise<void> {
  for (const batch of batchesOf(due)) {
    const objects = batch.map(({ object }) => storedReading(definition, object));
    const converted = await convert(core, definition, objects, definition.version);
    for (const [i, each] of batch.entries()) {
      const object = definition.custom?.fit(converted[i] ?? each.object) ?? each.object;
      rememberShown(definition, each, new ConvertedObject(each.key, encodeStored(object), each.revision));
    }
  }
}

/** Few and small enough that an answer as long as the question, or three times as long, is read. */
function batchesOf(due: readonly CachedObject[]): readonly (readonly CachedObject[])[] {
  const batches: CachedObject[][] = [];
  let chars = 0;
  for (const each of due) {
    const last = batches.at(-1);
    const isFull =
      last === undefined || last.length >= CONVERSION_BATCH_OBJECTS || chars + each.size > CONVERSION_BATCH_CHARS;
    if (isFull) batches.push([each]);
    else last.push(each);
    chars = isFull ? each.size : chars + each.size;
  }
  return batches;
}

/** Returns the stored form of an object. */
export function toStored(
  core: Core,
  definition: ResourceDefinition,
  object: KubeObject,
): KubeObject | Promise<KubeObject> {
  const { custom } = definition;
  if (custom?.conversion !== 'Webhook' || versionOf(object) === custom.storageVersion)
    return asStored(definition, object);
  const storage = custom.sibling(custom.storageVersion)?.custom ?? custom;
  return convert(core, definition, [object], custom.storageVersion).then(([converted]) =>
    storage.fit(converted ?? object),
  );
}

/** The last state of a removed object. It is not stored, so it needs no webhook. */
export const finalState = (definition: ResourceDefinition, object: KubeObject): KubeObject =>
  definition.custom?.conversion === 'Webhook' ? object : asStored(definition, object);

export type ConversionDeps = Pick<Core, 'reader' | 'ids' | 'clock' | 'log' | 'webhooks' | 'metrics'>;

/** The object as another version or group of its kind shows it. Nothing is stored. */
export async function asEquivalent(
  deps: ConversionDeps,
  object: KubeObject,
  { from, to }: { readonly from: ResourceDefinition; readonly to: ResourceDefinition },
): Promise<KubeObject> {
  const { custom } = to;
  if (custom === undefined) {
    const stored = from.storedAs === undefined ? object : from.storedAs.toStored(object);
    return to.storedAs === undefined ? stored : to.storedAs.fromStored(stored);
  }
  const named = { ...object, kind: from.kind, apiVersion: groupVersion(from) };
  if (custom.conversion === 'None') return custom.fit({ ...named, apiVersion: groupVersion(to) });
  const [converted] = await convert(deps, from, [named], to.version);
  return custom.fit(converted ?? named);
}

async function convert(
  core: ConversionDeps,
  { group, kind, custom }: ResourceDefinition,
  ...[objects, version]: readonly [readonly KubeObject[], string]
): Promise<readonly KubeObject[]> {
  const from = `${objects[0]?.apiVersion ?? ''}, Kind=${kind}`;
  const startedAt = core.clock.monotonic();
  const done = (failure: ConversionFailure | ''): void =>
    core.metrics.conversionDone(failure, (core.clock.monotonic() - startedAt) / 1000);
  const fail = (failure: ConversionFailure, why: string): never => {
    done(failure);
    const message = `conversion webhook for ${from} ${cutText(why, CONVERSION_MESSAGE_CHARS_MAX)}`;
    core.log.warn('a conversion webhook failed', { definition: custom?.definition ?? '', why: message });
    throw unclassifiedError(message);
  };
  const config = clientConfigOf(core, custom?.definition ?? '');
  if (config === undefined) return fail('conversion_call_failure', 'failed: the definition names no webhook');
  const uid = core.ids.uuid();
  const review = {
    kind: 'ConversionReview',
    apiVersion: 'apiextensions.k8s.io/v1',
    request: { uid, desiredAPIVersion: `${group}/${version}`, objects },
  };
  let answer: string;
  try {
    const target = await targetOf(config, core, `timeout=${CONVERSION_TIMEOUT_MS / 1000}s`);
    answer = await core.webhooks.call(target, JSON.stringify(review), CONVERSION_TIMEOUT_MS);
  } catch (error) {
    if (error instanceof WebhookCallError) return fail('conversion_call_failure', `failed: ${error.message}`);
    throw error;
  }
  const found = convertedObjects(answer, uid);
  if (typeof found === 'string') return fail('conversion_malformed_response_failure', `failed: ${found}`);
  if (found.length !== objects.length) {
    const counts = `returned ${found.length} objects, expected ${objects.length}`;
    return fail('conversion_partial_response_failure', counts);
  }
  const converted = objects.map((original, i) => {
    const checked = checkedObject(found[i] ?? null, original, `${group}/${version}`);
    if (!isFault(checked)) return checked;
    const { what, why } = checked;
    return fail('conversion_invalid_converted_object_failure', `returned ${what} at index ${i}: ${why}`);
  });
  done('');
  return converted;
}

const clientConfigOf = ({ reader }: ConversionDeps, name: string): WebhookClientConfig | undefined =>
  reader.cached(CUSTOM_RESOURCE_DEFINITIONS, { name })?.spec.conversion?.webhook?.clientConfig as
    | WebhookClientConfig
    | undefined;
