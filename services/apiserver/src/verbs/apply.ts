import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import {
  applyInSteps,
  badRequest,
  conflict,
  copyJson,
  deepEqual,
  isJsonObject,
  type JsonObject,
  jsonTypeName,
  unclassifiedError,
} from '@holdfast/machinery';
import type { Core } from '../core.ts';
import { asKind, bodyText, type ParsedDocument, readYamlText, refuseTooDeep, yamlFormat } from '../http/body.ts';
import type { ResourceContext } from '../http/context.ts';
import { isKnownKind } from '../http/known-kinds.ts';
import { objectAnswer } from '../http/object-answer.ts';
import { YamlSyntaxError } from '../http/yaml.ts';
import { groupVersion, subjectOf } from '../objects/object-keys.ts';
import { stepsInTurns } from '../turns/steps-in-turns.ts';
import { createObject } from './create.ts';
import { requireCreationRight } from './creation-right.ts';
import { asJson, decodeStored, reportStrict } from './decode-body.ts';
import { identityOf } from './field-ownership.ts';
import { placeInNamespace } from './place-in-namespace.ts';
import { checkName } from './update-identity.ts';
import { changeable, updateObject } from './update-object.ts';
import { updateStrategyFor } from './update-strategies.ts';
import { readWriteOptions, type WriteOptions } from './write-options.ts';
import { missing } from './write-results.ts';

/** Server-side apply: the client sends its wanted fields of an object, and owns exactly those. */
export async function apply(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
): Promise<ApiResponse> {
  const options = readWriteOptions(context, 'PatchOptions');
  const { value: config, duplicates } = parseConfiguration(context);
  checkConfiguredName(config, context);
  const { subresource, name } = context.info;
  const applyTo = async (live: KubeObject | undefined): Promise<KubeObject> => {
    if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
    const applied = await appliedObject(core, { context, definition, options, config: copyJson(config) }, live);
    reportStrict(context, options, duplicates, (why) => badRequest(`error strict decoding YAML: ${why}`));
    return applied;
  };
  const { object, created } = await updateObject(core, context, {
    definition,
    strategy: updateStrategyFor(definition, subresource),
    dryRun: options.dryRun,
    change: async (live) => changeable(await applyTo(live)),
    createInstead: async () => {
      if (subresource !== '') throw missing(definition, name);
      await requireCreationRight(core, context);
      const fresh = await applyTo(undefined);
      refuseUid(fresh, definition, name);
      placeInNamespace(fresh, context.info.namespace, definition);
      checkName(fresh, name);
      return createObject(core, context, { definition, object: fresh, options, tracked: true });
    },
  });
  return objectAnswer(core, context, definition, { status: created ? 201 : 200, object });
}

/** The configuration in the body, in YAML. */
export function parseConfiguration({ request }: ResourceContext): ParsedDocument {
  try {
    const { value, duplicates } = readYamlText(bodyText(request), yamlFormat(request));
    refuseTooDeep(value);
    if (isJsonObject(value)) return { value, duplicates };
    if (value === null) return { value: {}, duplicates };
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${jsonTypeName(value)} into Go value of type map[string]interface {}`,
    );
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error.message}`, error);
  }
}

interface Application {
  readonly context: ResourceContext;
  readonly definition: ResourceDefinition;
  readonly options: WriteOptions;
  readonly config: JsonObject;
}

async function appliedObject(core: Core, application: Application, live: KubeObject | undefined): Promise<KubeObject> {
  const { context, definition, options, config } = application;
  const { subresource } = context.info;
  refuseUnknown(config, definition);
  const writer = { definition, subresource, fieldManager: options.fieldManager, now: core.clock.now() };
  const steps = applyInSteps({
    ...identityOf(writer),
    live: live === undefined ? undefined : asJson(live),
    config,
    force: options.force,
  });
  const { object } = await stepsInTurns(core.turns, context.user, steps);
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const applied = asKind(decodeStored(object, definition), definition);
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  return live !== undefined && differOnlyInTime(live, applied, definition) ? live : applied;
}

/** An apply of an omitted zero changes only the timestamp. */
function differOnlyInTime(live: KubeObject, applied: KubeObject, definition: ResourceDefinition): boolean {
  return deepEqual(timeless(asKind(decodeStored(asJson(live), definition), definition)), timeless(applied));
}

function timeless(object: KubeObject): JsonObject {
  const managedFields = (object.metadata.managedFields ?? []).map((entry) => ({ ...entry, time: '' }));
  return asJson({ ...object, metadata: { ...object.metadata, managedFields } });
}

/** A uid in the configuration refers to an existing object. */
function refuseUid({ metadata: { uid = '' } }: KubeObject, definition: ResourceDefinition, name: string): void {
  if (uid === '') return;
  const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
  throw conflict(subjectOf(definition, name), why);
}

/** Checks the version, and kinds without ownable fields. */
function refuseUnknown(config: JsonObject, definition: ResourceDefinition): void {
  const { apiVersion, kind = '', metadata = {} } = config;
  if (apiVersion !== groupVersion(definition) || typeof kind !== 'string') return;
  if (definition.custom === undefined ? isKnownKind(apiVersion, kind) : kind === definition.kind) return;
  const type = `${definition.group}/${definition.version}, Kind=${kind}`;
  const text = (part: 'namespace' | 'name'): string => {
    const value = isJsonObject(metadata) ? metadata[part] : undefined;
    return typeof value === 'string' ? value : '';
  };
  throw unclassifiedError(
    `failed to create typed patch object (${text('namespace')}/${text('name')}; ${type}): no corresponding type for ${type}`,
  );
}

function checkConfiguredName(config: JsonObject, context: ResourceContext): void {
  const metadata = config['metadata'];
  const named = typeof metadata === 'object' && metadata !== null && 'name' in metadata ? metadata.name : undefined;
  if (typeof named !== 'string' || named === '' || named === context.info.name) return;
  throw badRequest(`the name of the object (${named}) does not match the name on the URL (${context.info.name})`);
}
