import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  applyMergePatch,
  applyStrategicMergePatch,
  copyJson,
  decodeWithSchema,
  type FieldError,
  fieldErrorBody,
  type JsonObject,
} from '@holdfast/machinery';
import { findResource } from './registry.ts';
import type { KubeObject, ResourceDefinition, SubresourceStrategy } from './resource.ts';
import { schemaFor } from './schema-table.ts';
import { keepServerMetadata } from './validation/object-meta.ts';

/** Recorded responses of Kubernetes 1.32. They are not part of the project; without them the tests are skipped. */
const RECORDINGS = join(import.meta.dirname, '../../../../shared/reference/golden');
/** The expected number of compared responses and tables, so that a lost comparison is noticed. */
const SCENARIOS: ReadonlyMap<string, { readonly replays: number; readonly tables: number }> = new Map([
  ['podvalid', { replays: 72, tables: 1 }],
  ['workloads', { replays: 29, tables: 6 }],
  ['crud', { replays: 17, tables: 0 }],
  ['lists', { replays: 7, tables: 2 }],
]);
const NOW = 1_700_000_000_000;

interface Step {
  readonly note?: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers?: Record<string, string>;
    readonly body?: unknown;
  };
  readonly response: { readonly status: number; readonly body: JsonObject };
}

const fileOf = (scenario: string): string => join(RECORDINGS, `${scenario}.json`);
const skipOf = (scenario: string): string | false =>
  existsSync(fileOf(scenario)) ? false : 'the recorded answers of Kubernetes 1.32 are not at hand';
const stepsOf = (scenario: string): readonly Step[] =>
  skipOf(scenario) === false ? (JSON.parse(readFileSync(fileOf(scenario), 'utf8')) as readonly Step[]) : [];

interface Place {
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

const PATH =
  /^\/(?:api\/(v1)|apis\/([^/]+)\/([^/]+))(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/?]+))?(?:\/([a-z]+))?(\?.*)?$/;

function placeOf(path: string): Place | undefined {
  const whole = path.replace(/^\/api\/v1\/namespaces(\/[^/?]+)?(\/(status|finalize))?$/, '/api/v1/namespaces$1$2');
  const nameOnly = /^\/api\/v1\/namespaces(?:\/([^/?]+))?$/.exec(whole);
  const parts = nameOnly === null ? PATH.exec(path) : undefined;
  const definition =
    nameOnly === null
      ? findResource(parts?.[2] ?? '', parts?.[1] ?? parts?.[3] ?? '', parts?.[5] ?? '')
      : findResource('', 'v1', 'namespaces');
  if (definition === undefined) return undefined;
  return {
    definition,
    namespace: parts?.[4] ?? '',
    name: (nameOnly === null ? parts?.[6] : nameOnly?.[1]) ?? '',
    subresource: parts?.[7] ?? '',
  };
}

function decode(body: unknown, definition: ResourceDefinition): KubeObject {
  const schema = schemaFor(definition.group, definition.version, definition.kind);
  assert.ok(schema);
  const { value } = decodeWithSchema(copyJson(body as JsonObject), schema);
  const object = copyJson(value) as unknown as KubeObject;
  object.metadata ??= {};
  return object;
}

/** Adds what admission adds before validation, as far as validation depends on it. */
function admit(object: KubeObject): void {
  if (object.kind !== 'Pod') return;
  const spec = (object as unknown as { spec: Record<string, unknown> }).spec;
  spec['serviceAccountName'] ||= 'default';
  spec['serviceAccount'] ||= 'default';
}

/**
 * False for steps that only the pipeline can answer: options, patches that cannot be applied, and unreadable bodies.
 */
function isReplayable({ request, response }: Step): boolean {
  if ([400, 415].includes(response.status) || request.path.includes('?') || Array.isArray(request.body)) return false;
  return !JSON.stringify(response.body['details'] ?? '').includes('"field":"patch"');
}

class Replay {
  readonly #objects = new Map<string, KubeObject>();

  /** Returns the causes of the refusal, or none. */
  run(step: Step): readonly FieldError[] | undefined {
    const place = placeOf(step.request.path);
    if (place === undefined) return undefined;
    const key = `${place.definition.plural}/${place.namespace}/`;
    switch (step.request.method) {
      case 'POST':
        return place.subresource === '' ? this.#create(place, key, step) : undefined;
      case 'DELETE':
        return this.#delete(key + place.name);
      case 'PATCH':
      case 'PUT':
        return this.#update(place, key + place.name, step);
      default:
        return undefined;
    }
  }

  #delete(key: string): undefined {
    const object = this.#objects.get(key);
    if (object !== undefined) object.metadata.deletionTimestamp = '2023-11-14T22:13:20Z';
  }

  #create(place: Place, key: string, step: Step): readonly FieldError[] {
    const object = decode(step.request.body, place.definition);
    if (place.definition.namespaced) object.metadata.namespace ??= place.namespace;
    if (object.metadata.generateName) object.metadata.name ??= `${object.metadata.generateName}abcde`;
    place.definition.setDefaults(object);
    admit(object);
    object.metadata.uid = '00000000-0000-4000-8000-000000000001';
    object.metadata.creationTimestamp = '2023-11-14T22:13:20Z';
    place.definition.strategy.prepareForCreate(object, { now: NOW });
    const errors = place.definition.strategy.validateCreate(object, { now: NOW });
    if (step.response.status === 201) {
      this.#objects.set(key + (object.metadata.name ?? ''), object);
      if (errors.length === 0) compareStored(object, step);
    }
    return errors;
  }

  #update(place: Place, key: string, step: Step): readonly FieldError[] | undefined {
    const old = this.#objects.get(key);
    if (old === undefined || place.subresource === 'scale' || step.response.status === 409) return undefined;
    const object = decode(changed(old, step, place.definition), place.definition);
    if (place.definition.namespaced) object.metadata.namespace ??= place.namespace;
    place.definition.setDefaults(object);
    admit(object);
    keepServerMetadata(object.metadata, old.metadata);
    object.metadata.resourceVersion = '7';
    const strategy = strategyOf(place);
    strategy.prepareForUpdate(object, old, { now: NOW });
    const errors = strategy.validateUpdate(object, old, { now: NOW });
    if (step.response.status === 200) this.#objects.set(key, object);
    return errors;
  }
}

function strategyOf({ definition, subresource }: Place): SubresourceStrategy<KubeObject> {
  const strategy =
    subresource === ''
      ? definition.strategy
      : subresource === 'status'
        ? definition.status
        : definition.subresources?.[subresource];
  assert.ok(strategy, `${definition.kind} ${subresource}`);
  return strategy;
}

function changed(old: KubeObject, step: Step, definition: ResourceDefinition): JsonObject {
  const doc = copyJson(old) as unknown as JsonObject;
  const patch = step.request.body as JsonObject;
  if (step.request.method === 'PUT') return patch;
  const type = step.request.headers?.['Content-Type'] ?? '';
  if (Array.isArray(patch)) return doc;
  if (!type.includes('strategic')) return applyMergePatch(doc, patch) as JsonObject;
  const schema = schemaFor(definition.group, definition.version, definition.kind);
  assert.ok(schema);
  return applyStrategicMergePatch(doc, patch, schema);
}

const mask = (text: string): string => text.replaceAll(/0x[0-9a-f]+/g, '<ptr>').split('\n', 1)[0] ?? '';

const show = (errors: readonly FieldError[]): readonly string[] =>
  unique(errors.map((error) => `${error.type} ${error.field}: ${mask(fieldErrorBody(error))}`));

function recorded(step: Step): readonly string[] {
  const details = step.response.body['details'] as { causes?: { reason: string; field: string; message: string }[] };
  return unique((details?.causes ?? []).map((cause) => `${cause.reason} ${cause.field}: ${mask(cause.message)}`));
}

const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)];

/** Admission, allocation and controllers add these fields; their own tests compare them. */
const ADDED_LATER = new Set([
  'volumes',
  'volumeMounts',
  'tolerations',
  'priority',
  'preemptionPolicy',
  'clusterIP',
  'clusterIPs',
]);
ADDED_LATER.add('lastPhaseTransitionTime')
  .add('lastTransitionTime')
  .add('finalizers')
  .add('ipFamilies')
  .add('ipFamilyPolicy');
ADDED_LATER.add('batch.kubernetes.io/controller-uid').add('controller-uid');

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => !ADDED_LATER.has(key));
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, child]) => [key, comparable(child)]),
  );
}

function compareStored(object: KubeObject, step: Step): void {
  const { metadata: _m, kind: _k, apiVersion: _a, ...mine } = object as unknown as JsonObject;
  const { metadata: _n, kind: _l, apiVersion: _b, ...theirs } = step.response.body;
  if (theirs['spec'] === undefined && theirs['data'] === undefined) return;
  assert.deepEqual(comparable(JSON.parse(JSON.stringify(mine))), comparable(theirs), step.note ?? step.request.path);
}

/** The result of a step in this process. */
type Outcome = { readonly errors: readonly FieldError[] } | { readonly thrown: unknown };

interface Comparison {
  readonly at: string;
  readonly step: Step;
  readonly outcome: Outcome;
}

/**
 * Runs the steps in order, because later steps change objects of earlier ones. Skips steps that only the server's
 * pipeline can answer.
 */
function compareAll(scenario: string): readonly Comparison[] {
  const replay = new Replay();
  return stepsOf(scenario).flatMap((step, i) => {
    const outcome = isReplayable(step) ? outcomeOf(replay, step) : undefined;
    return outcome === undefined ? [] : [{ at: `${scenario}[${i}] ${step.note ?? ''}`, step, outcome }];
  });
}

function outcomeOf(replay: Replay, step: Step): Outcome | undefined {
  try {
    const errors = replay.run(step);
    const { status } = step.response;
    return errors !== undefined && (status === 422 || status < 300) ? { errors } : undefined;
  } catch (thrown) {
    return { thrown };
  }
}

for (const [scenario, { replays }] of SCENARIOS) {
  const comparisons = compareAll(scenario);
  test(`recorded answers of ${scenario}: at least ${replays} are compared`, { skip: skipOf(scenario) }, () => {
    assert.ok(comparisons.length >= replays, `${comparisons.length}`);
  });
  for (const { at, step, outcome } of comparisons) {
    test(`recorded answer: ${at}`, () => {
      if ('thrown' in outcome) throw outcome.thrown;
      assert.deepEqual(show(outcome.errors), step.response.status === 422 ? recorded(step) : [], at);
    });
  }
}

interface Table {
  readonly columnDefinitions: readonly {
    readonly name: string;
    readonly type: string;
    readonly format: string;
    readonly priority: number;
  }[];
}

const isTable = (body: JsonObject): boolean => body['kind'] === 'Table';

for (const [scenario, { tables }] of SCENARIOS) {
  const shown = stepsOf(scenario).filter((step) => isTable(step.response.body));
  test(`recorded tables of ${scenario}: at least ${tables} are compared`, { skip: skipOf(scenario) }, () => {
    assert.ok(shown.length >= tables, `${shown.length}`);
  });
  for (const { request, response } of shown) {
    test(`recorded table: ${request.path} has the columns of the reference`, () => {
      const definition = placeOf(request.path)?.definition;
      assert.ok(definition);
      const { columnDefinitions } = response.body as unknown as Table;
      assert.deepEqual(
        definition.columns.map(({ name, type, format = '', priority }) => ({ name, type, format, priority })),
        columnDefinitions.map(({ name, type, format, priority }) => ({ name, type, format, priority })),
      );
    });
  }
}
