import { commonMetadataErrors, type KubeObject, type ResourceDefinition, type ValidationContext } from '@holdfast/api';
import { copyJson, deepEqual, type FieldError, invalidObject } from '@holdfast/machinery';
import type { AdmissionRequest, Representation, WriteCompanion } from '../admission/port.ts';
import { CachedObject } from '../cache/cached-object.ts';
import { encodeStored } from '../cache/stored-json.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { convertAhead, toStored } from '../kinds/conversion.ts';
import { keyOf } from '../objects/object-keys.ts';
import { asServed } from '../objects/stored-object.ts';
import { rehearse } from './companions.ts';
import { isHeld } from './deletion-holds.ts';
import { trackWriter } from './field-ownership.ts';
import { namesRevision } from './names-revision.ts';
import type { SentWrite } from './sent-write.ts';
import { type Proposal, swapNewest } from './swap-newest.ts';
import { checkIdentity } from './update-identity.ts';
import { validationContext } from './validation-context.ts';
import { deleteStored, missing, modified, updateStored } from './write-results.ts';

/** The differences between the ways of updating (the object, a subresource). */
export interface UpdateStrategy {
  readonly subresource: string;
  readonly prepare: (object: KubeObject, old: KubeObject, context: ValidationContext) => void;
  readonly validate: (object: KubeObject, old: KubeObject, context: ValidationContext) => readonly FieldError[];
}

export interface Update {
  readonly definition: ResourceDefinition;
  readonly strategy: UpdateStrategy;
  /** What webhooks and policies see instead of the object. */
  readonly representation?: Representation;
  readonly dryRun: boolean;
  /** Webhooks and policies have seen the request already. */
  readonly isReviewed?: true;
  /** Owner of the fields that this update changes; absent = ownership is not touched, or already settled by `change`. */
  readonly fieldManager?: string;
  /**
   * The wanted object, made from the stored one, which is frozen. What is returned may be changed, but for what the pipeline only
   * ever replaces (see `changeable`). Runs again for every attempt.
   */
  readonly change: (current: KubeObject) => KubeObject | Promise<KubeObject>;
  /** The change needs no defaulting: it may share unchanged parts with the stored object. */
  readonly isComplete?: true;
  /** Called when there is nothing to update; absent = 404. */
  readonly createInstead?: () => Promise<CachedObject>;
}

export interface Updated {
  readonly object: CachedObject;
  readonly created: boolean;
}

/** A copy whose parts may be changed, except managedFields: changes create new ones. */
export function changeable(object: KubeObject): KubeObject {
  const { metadata, ...rest } = object;
  const { managedFields, ...own } = metadata;
  const copy = { ...copyJson(rest), metadata: copyJson(own) };
  return managedFields === undefined ? copy : { ...copy, metadata: { ...copy.metadata, managedFields } };
}

/** The one read-modify-compare-and-swap behind PUT, PATCH and every subresource that changes an object. */
export async function updateObject(core: Core, context: ResourceContext, update: Update): Promise<Updated> {
  const { definition } = update;
  const { namespace, name } = context.info;
  const key = keyOf(definition, namespace, name);
  const updated = await swapNewest<Updated>(core, context, key, async (stored, attempt) => {
    if (stored !== undefined) return proposeUpdate(core, attempt, update, stored);
    if (update.createInstead === undefined) throw missing(definition, name);
    return { answer: { object: await update.createInstead(), created: true } };
  });
  if (updated === undefined) throw modified(definition, name);
  return updated;
}

async function proposeUpdate(
  core: Core,
  context: ResourceContext,
  update: Update,
  stored: CachedObject,
): Promise<Proposal<Updated>> {
  const { definition } = update;
  const converting = convertAhead(core, definition, [stored]);
  if (converting !== undefined) await converting;
  const current = asServed(definition, stored);
  const changing = update.change(current.object);
  const changed = changing instanceof Promise ? await changing : changing;
  checkIdentity(changed, current.object, context, definition);
  if (update.isComplete !== true) definition.setDefaults(changed);
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const object = owned(core, update, changed, current);
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  return proposeAdmitted(core, context, update, { stored, current, object });
}

interface Attempt {
  readonly current: CachedObject;
  /** `current` as it is in the store. */
  readonly stored: CachedObject;
  readonly object: KubeObject;
}

async function proposeAdmitted(
  core: Core,
  context: ResourceContext,
  update: Update,
  attempt: Attempt,
): Promise<Proposal<Updated>> {
  const { definition, strategy } = update;
  const { current, object } = attempt;
  const companions: WriteCompanion[] = [];
  const request = admissionRequest(context, update, { ...attempt, companions });
  const admitting = core.admission.admit(request);
  if (admitting !== undefined) await admitting;
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const validation = validationContext(core, context);
  prepare(update, attempt, validation);
  core.admission.settle(request);
  const errors = strategy.validate(object, current.object, validation);
  if (errors.length > 0 || definition.strategy.leavesMetadata === true) refuse(definition, attempt, errors);
  if (strategy.subresource === '') {
    for (const text of definition.strategy.warnings?.(object, current.object, validation) ?? []) context.warn(text);
  }
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const validating = core.admission.validate(request);
  if (validating !== undefined) await validating;
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  const text = encodeStored(object);
  if (core.turns.isOver(context.user)) await core.turns.goOn(context.user);
  return proposeWrite(core, update, { ...attempt, text, companions });
}

interface AdmittedAttempt extends Attempt {
  readonly text: string;
  readonly companions: WriteCompanion[];
}

async function proposeWrite(core: Core, update: Update, attempt: AdmittedAttempt): Promise<Proposal<Updated>> {
  const { definition } = update;
  const { current, object, text, companions } = attempt;
  const isSame = definition.custom === undefined ? isUnchanged(attempt, text) : await isKept(core, definition, attempt);
  // A value that is encrypted with an old key is rewritten.
  if (isSame && core.store.atRest?.isStale(current.key) !== true) return { answer: changedTo(current) };
  if (update.dryRun) {
    const given = await rehearse(companions, object);
    const encoded = given === object ? text : encodeStored(given);
    return { answer: changedTo(new CachedObject(current.key, encoded, current.revision)) };
  }
  return { write: (sent) => swap(core, definition, attempt, sent) };
}

async function swap(
  core: Core,
  definition: ResourceDefinition,
  { current, object, text, companions }: AdmittedAttempt,
  sent: SentWrite,
): Promise<Updated | undefined> {
  const result = endsWithThisUpdate(definition, object, current.object)
    ? await deleteStored(core, definition, { old: current, object, companions, sent })
    : await updateStored(core, definition, { old: current, object, text, companions, sent });
  return result.outcome === 'done' ? changedTo(result.object) : undefined;
}

const changedTo = (object: CachedObject): Updated => ({ object, created: false });

/** Key order does not change the length of JSON text: only what is as long as before needs a closer look. */
const isUnchanged = ({ current, object }: Attempt, text: string): boolean =>
  text.length === current.size && deepEqual(object, current.object);

/** A custom resource in an old stored form is rewritten even without changes. */
async function isKept(core: Core, definition: ResourceDefinition, { object, stored }: Attempt): Promise<boolean> {
  return deepEqual(await toStored(core, definition, object), stored.object);
}

function owned(core: Core, update: Update, object: KubeObject, current: CachedObject): KubeObject {
  const { definition, strategy, fieldManager } = update;
  if (fieldManager === undefined) return object;
  const writer = { definition, subresource: strategy.subresource, fieldManager, now: core.clock.now() };
  return trackWriter(writer, current.object, object);
}

/** Kubernetes checks the metadata of every update before the kind does it again, and clients see the causes of both. */
function refuse(definition: ResourceDefinition, { current, object }: Attempt, own: readonly FieldError[]): void {
  const { group, kind, namespaced } = definition;
  const errors = [...commonMetadataErrors(object, current.object, namespaced), ...own];
  if (errors.length > 0) throw invalidObject({ group, kind, name: current.object.metadata.name ?? '' }, errors);
}

/** Restores fields that no update may change. */
function prepare(update: Update, { current, object }: Attempt, context: ValidationContext): void {
  const { definition, strategy } = update;
  const old = current.object;
  keepServerFields(object, old);
  strategy.prepare(object, old, context);
  const wanted = strategy.subresource !== 'status' && definition.strategy.generationChanges?.(object, old) === true;
  setOrDelete(object.metadata, 'generation', wanted ? (old.metadata.generation ?? 0) + 1 : old.metadata.generation);
}

function keepServerFields(object: KubeObject, old: KubeObject): void {
  setOrDelete(object.metadata, 'resourceVersion', old.metadata.resourceVersion);
  object.metadata.uid ??= old.metadata.uid ?? '';
  if (object.metadata.uid === '') object.metadata.uid = old.metadata.uid ?? '';
  for (const field of ['creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    setOrDelete(object.metadata, field, old.metadata[field]);
  }
  delete object.metadata.selfLink;
}

function setOrDelete<T extends object, K extends keyof T>(target: T, key: K, value: T[K] | undefined): void {
  if (value === undefined) delete target[key];
  else target[key] = value;
}

/** The last finalizer went, and nothing else holds the object. */
function endsWithThisUpdate(definition: ResourceDefinition, object: KubeObject, old: KubeObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = old.metadata;
  return deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && !isHeld(definition, object);
}

function admissionRequest(
  context: ResourceContext,
  update: Update,
  { current, object, companions }: Omit<AdmittedAttempt, 'text'>,
): AdmissionRequest {
  return {
    operation: 'UPDATE',
    definition: update.definition,
    subresource: update.strategy.subresource,
    namespace: context.info.namespace,
    name: context.info.name,
    user: context.user,
    object,
    old: current.object,
    ...(update.representation === undefined ? {} : { representation: update.representation }),
    dryRun: update.dryRun,
    isReviewed: update.isReviewed === true,
    namesRevision: () => namesRevision(context.request),
    warn: context.warn,
    audit: context.audit,
    accompany: (companion) => void companions.push(companion),
  };
}
