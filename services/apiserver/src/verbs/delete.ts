import type { DeleteOptions, KubeObject, ResourceDefinition } from '@holdfast/api';
import type { ApiResponse } from '@holdfast/client';
import { forbiddenError, StatusError } from '@holdfast/machinery';
import type { AdmissionRequest, WriteCompanion } from '../admission/port.ts';
import { CachedObject } from '../cache/cached-object.ts';
import { encodeStored } from '../cache/stored-json.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { objectAnswer, valueAnswer } from '../http/object-answer.ts';
import { convertAhead } from '../kinds/conversion.ts';
import { keyOf, subjectOf } from '../objects/object-keys.ts';
import { asServed } from '../objects/stored-object.ts';
import { readDeleteOptions } from './delete-options.ts';
import { type DeletionStep, decideDeletion, orphansByDefault } from './deletion.ts';
import type { SentWrite } from './sent-write.ts';
import { type Proposal, swapNewest } from './swap-newest.ts';
import { deleteStored, missing, modified, type Swap, updateStored } from './write-results.ts';

export async function remove(
  core: Core,
  context: ResourceContext,
  definition: ResourceDefinition,
): Promise<ApiResponse> {
  const { options, dryRun } = readDeleteOptions(context);
  const target = { namespace: context.info.namespace, name: context.info.name };
  const refusal = definition.strategy.refusesDeletion?.(target.name);
  if (refusal !== undefined) throw forbiddenError(subjectOf(definition, target.name), refusal);
  const { warning } = definition.strategy.orphansByDefault ?? {};
  if (warning !== undefined && orphansByDefault(definition, options)) context.warn(warning);
  const deleted = await deleteObject(core, context, { definition, target, options, dryRun });
  if (!deleted.removed || definition.answersDeleted) {
    // Only the legacy request for dependents' deletion gets 202.
    const status = !deleted.removed && options.orphanDependents === false ? 202 : 200;
    return objectAnswer(core, context, definition, { status, object: deleted.object });
  }
  return valueAnswer(context, 200, successStatus(definition, deleted.object));
}

export interface Deletion {
  readonly definition: ResourceDefinition;
  readonly target: { readonly namespace: string; readonly name: string };
  readonly options: DeleteOptions;
  readonly dryRun: boolean;
  /** Additional changes in the write that marks the object as terminating. */
  readonly prepare?: (object: KubeObject, now: number) => KubeObject;
  /** Webhooks and policies have seen the request already. */
  readonly isReviewed?: true;
  /** The server deletes by itself: no plugin and no webhook is asked. */
  readonly skipsAdmission?: true;
}

export interface Deleted {
  /** False while a grace period or finalizers hold the object. */
  readonly removed: boolean;
  readonly object: CachedObject;
}

/** The compare-and-swap of every deletion: admission judges exactly the state that is then removed. */
export async function deleteObject(core: Core, context: ResourceContext, deletion: Deletion): Promise<Deleted> {
  const { definition, target } = deletion;
  const key = keyOf(definition, target.namespace, target.name);
  const deleted = await swapNewest(core, context, key, async (stored, attempt) => {
    if (stored === undefined) throw missing(definition, target.name);
    return proposeDeletion(core, attempt, deletion, stored);
  });
  if (deleted === undefined) throw modified(definition, target.name);
  return deleted;
}

export type DeleteObject = typeof deleteObject;

async function proposeDeletion(
  core: Core,
  context: ResourceContext,
  deletion: Deletion,
  stored: CachedObject,
): Promise<Proposal<Deleted>> {
  const { definition, options } = deletion;
  const converting = convertAhead(core, definition, [stored]);
  if (converting !== undefined) await converting;
  const current = asServed(definition, stored);
  checkPreconditions(current, options, definition);
  const admitted = { ...deletion, options: { ...options } };
  const companions: WriteCompanion[] = [];
  if (deletion.skipsAdmission !== true) {
    await admitDeletion(core, admissionRequest(context, admitted, { current, companions }));
  }
  const now = core.clock.now();
  const step = decideDeletion({ definition, old: current.object, options: admitted.options, now });
  const { prepare = (object: KubeObject): KubeObject => object } = deletion;
  const prepared = (object: KubeObject): KubeObject => prepare(object, now);
  if (deletion.dryRun) return { answer: asIfDone(current, step, prepared) };
  if (step.kind === 'keep') return { answer: { removed: false, object: current } };
  return { write: (sent) => applyDeletion(core, definition, { current, companions, step, prepared }, sent) };
}

async function admitDeletion(core: Core, request: AdmissionRequest): Promise<void> {
  const admitting = core.admission.admit(request);
  if (admitting !== undefined) await admitting;
  const validating = core.admission.validate(request);
  if (validating !== undefined) await validating;
}

interface Attempt {
  readonly current: CachedObject;
  /** Join the write that removes the object. */
  readonly companions: WriteCompanion[];
}

interface DecidedAttempt extends Attempt {
  readonly step: Exclude<DeletionStep, { readonly kind: 'keep' }>;
  readonly prepared: (object: KubeObject) => KubeObject;
}

async function applyDeletion(
  core: Core,
  definition: ResourceDefinition,
  { current: old, companions, step, prepared }: DecidedAttempt,
  sent: SentWrite,
): Promise<Deleted | undefined> {
  if (step.kind === 'mark') {
    return settled(await updateStored(core, definition, { old, object: prepared(step.object), sent }), false);
  }
  if (step.kind === 'markAndRemove') {
    return markAndRemove(core, definition, { old, object: prepared(step.object), companions, sent });
  }
  const { object, stored: text } = old;
  return settled(await deleteStored(core, definition, { old, object, text, companions, sent }), true);
}

function asIfDone(current: CachedObject, step: DeletionStep, prepare: (object: KubeObject) => KubeObject): Deleted {
  const removed = step.kind === 'remove' || step.kind === 'markAndRemove';
  if (step.kind === 'keep' || step.kind === 'remove') return { removed, object: current };
  return { removed, object: new CachedObject(current.key, encodeStored(prepare(step.object)), current.revision) };
}

/** SAFE-09: watchers first see the object with grace 0, then its removal. */
async function markAndRemove(core: Core, definition: ResourceDefinition, swap: Swap): Promise<Deleted | undefined> {
  const update = await updateStored(core, definition, { ...swap, companions: [] });
  if (update.outcome === 'lost') return undefined;
  return settled(await deleteStored(core, definition, { ...swap, old: update.object }), true);
}

function settled(result: Awaited<ReturnType<typeof updateStored>>, removed: boolean): Deleted | undefined {
  return result.outcome === 'done' ? { removed, object: result.object } : undefined;
}

function checkPreconditions(current: CachedObject, options: DeleteOptions, definition: ResourceDefinition): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = current.object;
  if (uid !== undefined && uid !== metadata.uid) {
    throw preconditionFailed(
      current,
      definition,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid ?? ''}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== String(current.revision)) {
    throw preconditionFailed(
      current,
      definition,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${current.revision}). The object might have been modified`,
    );
  }
}

/** Kubernetes names the kind here, not the resource. */
function preconditionFailed(current: CachedObject, definition: ResourceDefinition, why: string): StatusError {
  const kind = definition.group === '' ? definition.kind : `${definition.kind}.${definition.group}`;
  return new StatusError({
    code: 409,
    reason: 'Conflict',
    message: `Operation cannot be fulfilled on ${kind} "${current.name}": ${why}`,
    details: {
      name: current.name,
      ...(definition.group === '' ? {} : { group: definition.group }),
      kind: definition.kind,
    },
  });
}

function successStatus(definition: ResourceDefinition, { object }: CachedObject): unknown {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: object.metadata.name,
      ...(definition.group === '' ? {} : { group: definition.group }),
      kind: definition.plural,
      uid: object.metadata.uid,
    },
  };
}

function admissionRequest(
  context: ResourceContext,
  deletion: Deletion,
  { current, companions }: Attempt,
): AdmissionRequest {
  return {
    operation: 'DELETE',
    definition: deletion.definition,
    subresource: '',
    namespace: deletion.target.namespace,
    name: deletion.target.name,
    user: context.user,
    object: undefined,
    old: current.object,
    deleteOptions: deletion.options,
    dryRun: deletion.dryRun,
    isReviewed: deletion.isReviewed === true,
    warn: context.warn,
    audit: context.audit,
    accompany: (companion) => void companions.push(companion),
  };
}
