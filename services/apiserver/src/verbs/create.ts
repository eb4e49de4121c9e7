import type { KubeObject, ResourceDefinition, ValidationContext } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { fieldsOfMember, invalidObject, StatusError, unclassifiedError } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import type { AdmissionRequest, WriteCompanion } from '../admission/port.ts';
import { CachedObject } from '../cache/cached-object.ts';
import { encodeStored } from '../cache/stored-json.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { objectAnswer } from '../http/object-answer.ts';
import { refuseLate } from '../http/out-of-time.ts';
import { revisionProblem } from '../http/query-values.ts';
import { GENERATE_NAME_ATTEMPTS_MAX, GENERATED_BASE_CHARS_MAX, GENERATED_SUFFIX_CHARS } from '../limits.ts';
import { keyOf, subjectOf } from '../objects/object-keys.ts';
import { rehearse } from './companions.ts';
import { asJson, decodeNewBody, schemaOf } from './decode-body.ts';
import { trackWriter } from './field-ownership.ts';
import { placeInNamespace } from './place-in-namespace.ts';
import type { PodTemplate } from './pod-templates.ts';
import { refuseWhileTerminating } from './terminating-kind.ts';
import { changeable } from './update-object.ts';
import { validationContext } from './validation-context.ts';
import { readWriteOptions, type WriteOptions } from './write-options.ts';
import { type Creation, createStored, existing } from './write-results.ts';

export async function create(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
): Promise<ApiResponse> {
  const options = readWriteOptions(context, 'CreateOptions');
  const { object, template } = decodeNewBody(context, definition, options);
  placeInNamespace(object, context.info.namespace, definition);
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const created = await createObject(core, context, { definition, object, options, template, revision: 'refused' });
  return objectAnswer(core, context, definition, { status: 201, object: created });
}

export interface NewObject {
  readonly definition: ResourceDefinition;
  readonly object: KubeObject;
  readonly options: WriteOptions;
  /** The object already has its managedFields. */
  readonly tracked?: true;
  /** Cached facts about the spec, which was sent in the same text before. */
  readonly template?: PodTemplate | undefined;
  /** A client that names a revision means an object that is there; absent = it is overlooked. */
  readonly revision?: 'refused';
}

/** Defaults, admits, validates and stores a new object; also behind PUT and apply to a name that does not exist. */
export async function createObject(core: Core, context: ResourceContext, wanted: NewObject): Promise<CachedObject> {
  const { definition, options } = wanted;
  if (definition.custom !== undefined) refuseWhileTerminating(definition, definition.custom);
  definition.setDefaults(wanted.object);
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const object = wanted.tracked === true ? wanted.object : owned(core, wanted);
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const revision = object.metadata.resourceVersion ?? '';
  const request = admissionRequest(context, { ...wanted, object });
  const admitting = core.admission.admit(request);
  if (admitting !== undefined) await admitting;
  for (let attempt = 1; ; attempt++) {
    if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
    const candidate = attempt === 1 && !isGenerated(object) ? object : changeable(object);
    const validation = validationContext(core, context);
    prepare(core, candidate, definition, validation);
    const companions: WriteCompanion[] = [];
    const accompany = (companion: WriteCompanion): void => void companions.push(companion);
    const judged = { ...request, name: candidate.metadata.name ?? '', object: candidate, accompany };
    core.admission.settle(judged);
    const warnings = checked(candidate, wanted, validation);
    for (const text of warnings) context.warn(text);
    if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
    const validating = core.admission.validate(judged);
    if (validating !== undefined) await validating;
    if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
    const key = keyOf(definition, context.info.namespace, candidate.metadata.name ?? '');
    if (options.dryRun) return dryRun(core, definition, { key, object: candidate, companions });
    if (wanted.revision === 'refused') refuseRevision(revision);
    refuseLate(context.request);
    const result = await createStored(core, definition, { key, object: candidate, companions });
    if (result.outcome === 'done') return result.object;
    if (!isGenerated(object)) throw existing(definition, candidate.metadata.name ?? '');
    if (attempt === GENERATE_NAME_ATTEMPTS_MAX) throw nameCollision(definition, candidate.metadata.name ?? '');
  }
}

/** Kubernetes answers this with 500, and overlooks what is no revision at all. */
function refuseRevision(revision: string): void {
  if (/^0*[1-9]\d*$/.test(revision) && revisionProblem(revision) === undefined) {
    throw unclassifiedError('resourceVersion should not be set on objects to be created');
  }
}

/** Throws when the object is not valid; returns what to warn of. Of what is known of its template nothing is found out again. */
function checked(
  object: KubeObject,
  { definition, template }: NewObject,
  context: ValidationContext,
): readonly string[] {
  const { strategy } = definition;
  const isSpecValid = template !== undefined && strategy.saysTheSame?.(object, template.valid) === true;
  const known = { ...context, isSpecValid, isSpecQuiet: isSpecValid && template.isQuiet };
  check(object, definition, known);
  const warnings = strategy.warnings?.(object, undefined, known) ?? [];
  if (template !== undefined && 'spec' in object) {
    template.valid = object.spec;
    template.isQuiet = known.isSpecQuiet || warnings.length === 0;
  }
  return warnings;
}

function owned(core: Core, { definition, object, options, template }: NewObject): KubeObject {
  const writer = { definition, subresource: '', fieldManager: options.fieldManager, now: core.clock.now() };
  if (template !== undefined) template.fields ??= fieldsOfMember(asJson(object), 'spec', schemaOf(definition));
  return trackWriter(writer, undefined, object, template?.fields === undefined ? undefined : { spec: template.fields });
}

const isGenerated = (object: KubeObject): boolean =>
  (object.metadata.name ?? '') === '' && (object.metadata.generateName ?? '') !== '';

function prepare(core: Core, object: KubeObject, definition: ResourceDefinition, context: ValidationContext): void {
  const { metadata } = object;
  if (isGenerated(object)) {
    const base = (metadata.generateName ?? '').slice(0, GENERATED_BASE_CHARS_MAX);
    metadata.name = `${base}${core.ids.suffix(GENERATED_SUFFIX_CHARS)}`;
  }
  metadata.uid = core.ids.uuid();
  metadata.creationTimestamp = formatTime(context.now);
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
  delete metadata.resourceVersion;
  if (definition.strategy.generationChanges === undefined) delete metadata.generation;
  else metadata.generation = 1;
  definition.strategy.prepareForCreate(object, context);
}

function check(object: KubeObject, definition: ResourceDefinition, context: ValidationContext): void {
  const errors = definition.strategy.validateCreate(object, context);
  if (errors.length === 0) return;
  throw invalidObject({ group: definition.group, kind: definition.kind, name: object.metadata.name ?? '' }, errors);
}

function admissionRequest(context: ResourceContext, wanted: NewObject): AdmissionRequest {
  return {
    operation: 'CREATE',
    definition: wanted.definition,
    subresource: '',
    namespace: context.info.namespace,
    name: wanted.object.metadata.name ?? '',
    user: context.user,
    object: wanted.object,
    old: undefined,
    dryRun: wanted.options.dryRun,
    warn: context.warn,
    audit: context.audit,
    accompany: () => {},
  };
}

async function dryRun(
  core: Core,
  definition: ResourceDefinition,
  { key, object, companions }: Creation,
): Promise<CachedObject> {
  const { object: stored } = await core.store.get(key);
  if (stored !== undefined) throw existing(definition, object.metadata.name ?? '');
  return new CachedObject(key, encodeStored(await rehearse(companions, object)), 0);
}

function nameCollision(definition: ResourceDefinition, name: string): StatusError {
  const { body } = existing(definition, name);
  return new StatusError({
    code: 409,
    reason: 'AlreadyExists',
    message: `${body.message}, the server was not able to generate a unique name for the object`,
    details: { ...subjectDetails(definition, name), retryAfterSeconds: 1 },
  });
}

function subjectDetails(definition: ResourceDefinition, name: string): { name: string; group?: string; kind: string } {
  const { group, resource } = subjectOf(definition, name);
  return { name, ...(group === '' ? {} : { group }), kind: resource };
}
