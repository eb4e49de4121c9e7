import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type KubeObject,
  type ResourceDefinition,
  type WebhookClientConfig,
} from '@holdfast/api';
import {
  copyJson,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  unclassifiedError,
} from '@holdfast/machinery';
import { CachedObject } from '../cache/cached-object.ts';
import { encodeStored } from '../cache/stored-json.ts';
import type { Core } from '../core.ts';
import {
  CONVERSION_BATCH_CHARS,
  CONVERSION_BATCH_OBJECTS,
  CONVERSION_ROUNDS_MAX,
  CONVERSION_TIMEOUT_MS,
} from '../limits.ts';
import type { ConversionFailure } from '../metrics/api-metrics.ts';
import { WebhookCallError } from '../service-calls/port.ts';
import { targetOf } from '../service-calls/webhook-target.ts';
import { asStored, isShownAlready, rememberShown, storedReading, versionOf } from '../stored-form.ts';

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

/** Until all are converted that are there by then: others may change while a webhook is asked. */
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
      rememberShown(definition, each, new CachedObject(each.key, encodeStored(object), each.revision));
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

/** What is kept of an object. */
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

async function convert(
  core: Core,
  { group, kind, custom }: ResourceDefinition,
  ...[objects, version]: readonly [readonly KubeObject[], string]
): Promise<readonly KubeObject[]> {
  const from = `${objects[0]?.apiVersion ?? ''}, Kind=${kind}`;
  const startedAt = core.clock.monotonic();
  const done = (failure: ConversionFailure | ''): void =>
    core.metrics.conversionDone(failure, (core.clock.monotonic() - startedAt) / 1000);
  const fail = (why: string, failure: ConversionFailure): never => {
    done(failure);
    core.log.warn('a conversion webhook failed', { definition: custom?.definition ?? '', why });
    throw unclassifiedError(`conversion webhook for ${from} failed: ${why}`);
  };
  const config = clientConfigOf(core, custom?.definition ?? '');
  if (config === undefined) return fail('the definition names no webhook', 'conversion_call_failure');
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
    if (error instanceof WebhookCallError) return fail(error.message, 'conversion_call_failure');
    throw error;
  }
  const found = convertedObjects(answer, uid);
  if (typeof found === 'string') return fail(found, 'conversion_malformed_response_failure');
  if (found.length !== objects.length) {
    done('conversion_partial_response_failure');
    const counts = `returned ${found.length} objects, expected ${objects.length}`;
    throw unclassifiedError(`conversion webhook for ${from} ${counts}`);
  }
  const converted = objects.map((original, i) => {
    const checked = checkedObject(found[i] ?? null, original, `${group}/${version}`);
    if (typeof checked !== 'string') return checked;
    done('conversion_invalid_converted_object_failure');
    throw unclassifiedError(
      `conversion webhook for ${from} returned invalid converted object at index ${i}: ${checked}`,
    );
  });
  done('');
  return converted;
}

const clientConfigOf = ({ reader }: Core, name: string): WebhookClientConfig | undefined =>
  reader.cached(CUSTOM_RESOURCE_DEFINITIONS, { name })?.spec.conversion?.webhook?.clientConfig as
    | WebhookClientConfig
    | undefined;

/** A text says what is wrong with the answer. */
function convertedObjects(text: string, uid: string): readonly Json[] | string {
  let review: unknown;
  try {
    review = JSON.parse(text);
  } catch {
    return 'the answer is not JSON';
  }
  if (
    !isJsonObject(review) ||
    review['kind'] !== 'ConversionReview' ||
    review['apiVersion'] !== 'apiextensions.k8s.io/v1'
  ) {
    return 'expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview';
  }
  const { response } = review;
  if (!isJsonObject(response)) return 'no response provided';
  if (response['uid'] !== uid)
    return `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response['uid'] ?? '')}`;
  const result = isJsonObject(response['result']) ? response['result'] : {};
  if (result['status'] !== 'Success') {
    const { message, status } = result;
    if (typeof message === 'string' && message !== '') return message;
    return `response.result.status was '${typeof status === 'string' ? status : ''}', not 'Success'`;
  }
  const objects = response['convertedObjects'];
  return isJsonArray(objects) ? objects : [];
}

/** A webhook may change anything but what an object is called and who keeps it: of metadata only labels and annotations. */
function checkedObject(converted: Json, original: KubeObject, apiVersion: string): KubeObject | string {
  if (!isJsonObject(converted)) return 'it is no object';
  if (converted['apiVersion'] !== apiVersion) {
    return `invalid groupVersion (expected ${apiVersion}, received ${textOf(converted['apiVersion'])})`;
  }
  if (converted['kind'] !== original.kind) {
    return `invalid kind (expected ${original.kind}, received ${textOf(converted['kind'])})`;
  }
  const metadata = isJsonObject(converted['metadata']) ? converted['metadata'] : {};
  for (const [key, name] of IDENTITY) {
    const [before, after] = [original.metadata[key] ?? '', metadata[key] ?? ''];
    if (before !== after) return `must have the same ${name}: ${before} != ${textOf(after)}`;
  }
  return { ...copyJson(converted), metadata: mergedMetadata(metadata, original) } as unknown as KubeObject;
}

const IDENTITY = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const;

function mergedMetadata(converted: JsonObject, { metadata }: KubeObject): KubeObject['metadata'] {
  const { labels: _labels, annotations: _annotations, ...own } = copyJson(metadata);
  const given = ['labels', 'annotations'].filter((key) => isJsonObject(converted[key]));
  return { ...own, ...Object.fromEntries(given.map((key) => [key, copyJson(converted[key] ?? null)])) };
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null));
