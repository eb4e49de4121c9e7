import { type KubeObject, type ResourceDefinition, type ScaleAccess, schemaFor } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import {
  applyServerSide,
  badRequest,
  conflict,
  invalid,
  invalidObject,
  isJsonObject,
  type JsonObject,
  StatusError,
  unclassifiedError,
} from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';
import type { Representation } from '../admission/port.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import { catchUp } from '../cache/reader.ts';
import type { Core } from '../core.ts';
import { asKind, mediaTypeOf } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import { convertAhead } from '../kinds/conversion.ts';
import { keyOf, storagePath, subjectOf } from '../objects/object-keys.ts';
import { asServed } from '../objects/stored-object.ts';
import { parseConfiguration } from '../verbs/apply.ts';
import { asJson, decodeStored } from '../verbs/decode-body.ts';
import { identityOf } from '../verbs/field-ownership.ts';
import { type Patch, patched, readPatch, requirePatchType } from '../verbs/patch.ts';
import { placeInNamespace } from '../verbs/place-in-namespace.ts';
import { readReview } from '../verbs/review.ts';
import { changeable, updateObject } from '../verbs/update-object.ts';
import { updateStrategyFor } from '../verbs/update-strategies.ts';
import { APPLY_PATCH, readWriteOptions } from '../verbs/write-options.ts';
import { mismatch, missing, nameless } from '../verbs/write-results.ts';
import type { Handler, Subresource } from './port.ts';
import { scaleAnswer } from './scale-answer.ts';

const get: Handler = async (core, context, definition) => {
  await catchUp(core);
  const object = core.cache.byKey(keyOf(definition, context.info.namespace, context.info.name));
  if (object === undefined) throw missing(definition, context.info.name);
  await convertAhead(core, definition, [object]);
  const served = asServed(definition, object);
  const missingPart = definition.scale?.missing?.(served.object);
  if (missingPart !== undefined) throw internalProblem(missingPart);
  return answer(core, context, definition, served);
};

const put: Handler = async (core, context, definition) => {
  const options = readWriteOptions(context, 'UpdateOptions');
  const review = readReview(context, SCALE, OLDER_SCALES);
  placeInNamespace(review, context.info.namespace, definition);
  const sent = asJson(review);
  return change(core, context, definition, { ...options, wanted: () => sent });
};

const patch: Handler = async (core, context, definition) => {
  if (mediaTypeOf(context.request) === APPLY_PATCH) return applyScale(core, context, definition);
  requirePatchType(context);
  const options = readWriteOptions(context, 'PatchOptions');
  const schema = schemaFor('autoscaling', 'v1', 'Scale');
  invariant(schema !== undefined, 'there is a field table for Scale');
  let sent: Patch | undefined;
  const wanted = (current: JsonObject): JsonObject => {
    sent ??= readPatch(context, schema);
    return patched(context, options, { current, patch: sent, schema });
  };
  return change(core, context, definition, { ...options, wanted });
};

/** Admission sees the scale before and after, and may change the replicas. */
const representationOf = (definition: ResourceDefinition): Representation => ({
  kind: SCALE,
  of: (object) => scaleOf(definition, object),
  applyTo: (object, changed) =>
    accessOf(definition).setReplicas(object, readReplicas(changed, object, definition.custom !== undefined)),
});

const SCALE = { group: 'autoscaling', version: 'v1', kind: 'Scale' } as const;
/** Versions of the same shape that clients may still send. */
const OLDER_SCALES = ['apps/v1beta1', 'apps/v1beta2', 'extensions/v1beta1'];

/** `kubectl scale` and autoscalers: the replicas of anything that has some, in one shape. */
export const scale: Subresource = {
  name: 'scale',
  servedBy: (definition) => definition.scale !== undefined,
  verbs: { get, update: put, patch },
  body: SCALE,
};

/** An applier of a scale owns the replicas of the scaled object. */
async function applyScale(core: Core, context: ResourceContext, definition: ResourceDefinition): Promise<ApiResponse> {
  const options = readWriteOptions(context, 'PatchOptions');
  const config = readScaleConfiguration(context);
  const spec =
    isJsonObject(config['spec']) && 'replicas' in config['spec'] ? { replicas: config['spec']['replicas'] ?? 0 } : {};
  const { object } = await updateObject(core, context, {
    definition,
    strategy: { ...updateStrategyFor(definition, ''), subresource: 'scale' },
    representation: representationOf(definition),
    dryRun: options.dryRun,
    change: (current) => {
      checkPreconditions(config, current, definition);
      const wanted = {
        apiVersion: current.apiVersion,
        kind: current.kind,
        metadata: { name: context.info.name },
        spec,
      };
      const writer = { definition, subresource: 'scale', fieldManager: options.fieldManager, now: core.clock.now() };
      const applied = applyServerSide({
        ...identityOf(writer),
        live: asJson(current),
        config: wanted,
        force: options.force,
      });
      readReplicas(applied.object, current, definition.custom !== undefined);
      return changeable(asKind(decodeStored(applied.object, definition), definition));
    },
  });
  return answer(core, context, definition, object);
}

function readScaleConfiguration(context: ResourceContext): JsonObject {
  const { value } = parseConfiguration(context);
  const version = value['apiVersion'] ?? '';
  if (version !== 'autoscaling/v1') {
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${typeof version === 'string' ? version : ''}, expected: autoscaling/v1`,
    );
  }
  const unknown = Object.keys(isJsonObject(value['spec']) ? value['spec'] : {}).find((key) => key !== 'replicas');
  if (unknown === undefined) return value;
  const subject = `${context.info.namespace}/${context.info.name}; autoscaling/v1, Kind=Scale`;
  throw unclassifiedError(
    `failed to create typed patch object (${subject}): .spec.${unknown}: field not declared in schema`,
  );
}

interface ScaleChange {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly wanted: (current: JsonObject) => JsonObject;
}

async function change(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
  { dryRun, fieldManager, wanted }: ScaleChange,
): Promise<ApiResponse> {
  const access = accessOf(definition);
  const { object } = await updateObject(core, context, {
    definition,
    strategy: { ...updateStrategyFor(definition, ''), subresource: 'scale' },
    representation: representationOf(definition),
    dryRun,
    // Kubernetes tracks scaling of custom resources only for apply.
    ...(definition.custom === undefined ? { fieldManager } : {}),
    change: (current) => {
      const result = wanted(scaleOf(definition, current));
      checkPreconditions(result, current, definition);
      const object = changeable(current);
      access.setReplicas(object, readReplicas(result, current, definition.custom !== undefined));
      return object;
    },
  });
  return answer(core, context, definition, object);
}

function answer(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
  { object }: CachedObject,
): ApiResponse {
  return scaleAnswer(core, context, { scale: scaleOf(definition, object), object, access: accessOf(definition) });
}

/** Kubernetes' wording. */
const internalProblem = (why: string): StatusError =>
  new StatusError({
    code: 500,
    reason: 'InternalError',
    message: `Internal error occurred: ${why}`,
    details: { causes: [{ message: why }] },
  });

function scaleOf(definition: ResourceDefinition, object: KubeObject): JsonObject {
  const access = accessOf(definition);
  const { name = '', namespace = '', uid = '', resourceVersion = '', creationTimestamp = '' } = object.metadata;
  const selector = access.selector(object);
  const replicas = access.replicas(object);
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    // A zero is omitted, as in Kubernetes.
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: access.statusReplicas(object), ...(selector === '' ? {} : { selector }) },
  };
}

function accessOf(definition: ResourceDefinition): ScaleAccess<KubeObject> {
  invariant(definition.scale !== undefined, 'scale is routed only to kinds that have it', { kind: definition.kind });
  return definition.scale;
}

function checkPreconditions(wanted: JsonObject, current: KubeObject, definition: ResourceDefinition): void {
  const metadata = isJsonObject(wanted['metadata']) ? wanted['metadata'] : {};
  const name = current.metadata.name ?? '';
  const uid = metadata['uid'] ?? '';
  if (typeof uid === 'string' && uid !== '' && uid !== current.metadata.uid) {
    throw conflict(
      subjectOf(definition, name),
      mismatch(storagePath(definition, current.metadata), 'UID', { wanted: uid, found: current.metadata.uid ?? '' }),
    );
  }
  const sent = metadata['name'];
  if (sent === undefined || sent === '') {
    throw nameless(name);
  }
  if (typeof sent === 'string' && sent !== '' && sent !== name) {
    throw badRequest(`the name of the object (${sent}) does not match the name on the URL (${name})`);
  }
  const version = metadata['resourceVersion'] ?? '';
  if (version !== '' && version !== current.metadata.resourceVersion) {
    throw conflict(
      subjectOf(definition, name),
      'the object has been modified; please apply your changes to the latest version and try again',
    );
  }
}

function readReplicas(wanted: JsonObject, current: KubeObject, isCustom: boolean): number {
  const spec = isJsonObject(wanted['spec']) ? wanted['spec'] : {};
  const replicas = spec['replicas'] ?? 0;
  if (typeof replicas !== 'number' || !Number.isSafeInteger(replicas)) {
    throw badRequest('Scale in version "v1" cannot be handled as a Scale: spec.replicas must be an integer');
  }
  // Custom resources say themselves what is wrong with them.
  if (replicas >= 0 || isCustom) return replicas;
  throw invalidObject({ group: 'autoscaling', kind: 'Scale', name: current.metadata.name ?? '' }, [
    invalid('spec.replicas', replicas, 'must be greater than or equal to 0'),
  ]);
}
