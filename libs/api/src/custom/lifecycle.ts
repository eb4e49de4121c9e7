import { deepEqual } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionStatus,
} from '../generated/types.ts';
import { approvalOf } from './approval.ts';

/** Keeps a definition until its instances are deleted. */
export const CLEANUP_FINALIZER = 'customresourcecleanup.apiextensions.k8s.io';

type Crd = Readonly<CustomResourceDefinition>;
type Told = Pick<CustomResourceDefinitionCondition, 'type' | 'status' | 'reason' | 'message'>;

export const conditionOf = ({ status }: Crd, type: string): CustomResourceDefinitionCondition | undefined =>
  (status.conditions ?? []).find((each) => each.type === type);

export const isEstablished = (crd: Crd): boolean => conditionOf(crd, 'Established')?.status === 'True';

/** Returns the status with a condition. Its time changes only when the condition changes. */
export function withCondition(
  status: Readonly<CustomResourceDefinitionStatus>,
  told: Told,
  now: number,
): CustomResourceDefinitionStatus {
  const conditions = status.conditions ?? [];
  const old = conditions.find(({ type }) => type === told.type);
  const since = old?.status === told.status ? old.lastTransitionTime : undefined;
  const next = { ...told, lastTransitionTime: since ?? formatTime(now) };
  const others = conditions.map((each) => (each.type === told.type ? next : each));
  return { ...status, conditions: old === undefined ? [...conditions, next] : others };
}

/** The names in the group of a definition that it may not have. */
export interface TakenNames {
  /** The other definitions of the group. */
  readonly others: readonly Crd[];
  /** Plural names of the kinds of this build in the group. Objects are stored by group and plural name alone. */
  readonly builtIn: readonly string[];
}

/**
 * Returns the status that a definition should have beside the others of its group; `undefined` when it is up to date.
 */
export function decideDefinitionStatus(
  crd: Crd,
  taken: TakenNames,
  now: number,
): CustomResourceDefinitionStatus | undefined {
  const { names, condition } = acceptNames(crd, taken);
  let status: CustomResourceDefinitionStatus = { ...crd.status, acceptedNames: names };
  status = withCondition(status, condition, now);
  const established = establishedCondition(crd, condition.status === 'True');
  if (established !== undefined) status = withCondition(status, established, now);
  const approved = approvalCondition(crd);
  if (approved !== undefined) status = withCondition(status, approved, now);
  return deepEqual(status, crd.status) ? undefined : status;
}

/** A kind that was served once stays established, whatever names it requests later. */
function establishedCondition(crd: Crd, accepted: boolean): Told | undefined {
  if (isEstablished(crd)) return undefined;
  return accepted
    ? told('Established', 'True', 'InitialNamesAccepted', 'the initial names have been accepted')
    : told('Established', 'False', 'NotAccepted', 'not all names are accepted');
}

const told = (type: string, status: 'True' | 'False', reason: string, message: string): Told => ({
  type,
  status,
  reason,
  message,
});

interface Accepted {
  readonly names: CustomResourceDefinitionNames;
  readonly condition: Told;
}

/** Accepts each name on its own unless another definition of the group has it. Reports the last conflict. */
function acceptNames({ spec, status }: Crd, taken: TakenNames): Accepted {
  const used = usedNames(taken);
  const wanted = spec.names;
  const names: CustomResourceDefinitionNames = { ...status.acceptedNames };
  let condition = told('NamesAccepted', 'True', 'NoConflicts', 'no conflicts found');
  const refuse = (reason: string, conflicts: readonly string[]): void => {
    const message = conflicts.map((name) => `${JSON.stringify(name)} is already in use`);
    const text = message.length === 1 ? (message[0] ?? '') : `[${message.join(', ')}]`;
    condition = told('NamesAccepted', 'False', reason, text);
  };
  const accept = (key: 'plural' | 'singular' | 'kind' | 'listKind', of: ReadonlySet<string>): void => {
    const name = wanted[key] ?? '';
    if (name === (names[key] ?? '')) return;
    if (of.has(name)) refuse(`${key.charAt(0).toUpperCase()}${key.slice(1)}Conflict`, [name]);
    else names[key] = name;
  };
  accept('plural', used.resources);
  accept('singular', used.resources);
  const own = new Set(names.shortNames);
  const conflicts = (wanted.shortNames ?? []).filter((name) => !own.has(name) && used.resources.has(name));
  if (conflicts.length > 0) refuse('ShortNamesConflict', conflicts);
  else setOrDelete(names, 'shortNames', wanted.shortNames);
  accept('kind', used.kinds);
  accept('listKind', used.kinds);
  setOrDelete(names, 'categories', wanted.categories);
  return { names, condition };
}

function setOrDelete<K extends 'shortNames' | 'categories'>(
  names: CustomResourceDefinitionNames,
  key: K,
  value: CustomResourceDefinitionNames[K],
): void {
  if (value === undefined) delete names[key];
  else names[key] = value;
}

function usedNames({ others, builtIn }: TakenNames): {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
} {
  const accepted = others.map(({ status }) => status.acceptedNames);
  return {
    resources: new Set([
      ...builtIn,
      ...accepted.flatMap(({ plural, singular = '', shortNames = [] }) => [plural, singular, ...shortNames]),
    ]),
    kinds: new Set(accepted.flatMap(({ kind, listKind = '' }) => [kind, listKind])),
  };
}

function approvalCondition(crd: Crd): Told | undefined {
  const approval = approvalOf(crd);
  if (approval === undefined) return undefined;
  const reason = { approved: 'Approved', bypassed: 'Unapproved', missing: 'Missing', invalid: 'Invalid' }[
    approval.state
  ];
  const status = approval.state === 'approved' ? 'True' : 'False';
  return told('KubernetesAPIApprovalPolicyConformant', status, `${reason}Annotation`, approval.message);
}

/** The next step in the deletion of a definition. */
export type CleanupStep =
  /** Another finalizer keeps the object. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'delete-instances' }
  | { readonly kind: 'finish'; readonly reason: 'NeverEstablished' | 'InstanceDeletionCompleted' };

export function decideCleanup(crd: Crd, instances: number): CleanupStep {
  const { deletionTimestamp, finalizers = [] } = crd.metadata;
  if (deletionTimestamp === undefined || !finalizers.includes(CLEANUP_FINALIZER)) return { kind: 'nothing' };
  if (!isEstablished(crd)) return { kind: 'finish', reason: 'NeverEstablished' };
  return instances > 0 ? { kind: 'delete-instances' } : { kind: 'finish', reason: 'InstanceDeletionCompleted' };
}

const TERMINATING_TEXTS = {
  InstanceDeletionPending: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  InstanceDeletionInProgress: 'CustomResource deletion is in progress',
  InstanceDeletionCompleted: 'removed all instances',
  NeverEstablished: 'resource was never established',
} as const;

/** The progress of the deletion. */
export function terminating(
  crd: Crd,
  reason: keyof typeof TERMINATING_TEXTS,
  now: number,
): CustomResourceDefinitionStatus {
  const isOver = reason === 'InstanceDeletionCompleted' || reason === 'NeverEstablished';
  return withCondition(
    crd.status,
    told('Terminating', isOver ? 'False' : 'True', reason, TERMINATING_TEXTS[reason]),
    now,
  );
}

/** Why instances could not be deleted; each reason once. */
export function failedDeletion(crd: Crd, faults: readonly string[], now: number): CustomResourceDefinitionStatus {
  const why = faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`;
  const message = `could not issue all deletes: ${why}`;
  return withCondition(crd.status, told('Terminating', 'True', DELETION_FAILED, message), now);
}

export const hasFailedDeletion = (crd: Crd): boolean => conditionOf(crd, 'Terminating')?.reason === DELETION_FAILED;

const DELETION_FAILED = 'InstanceDeletionFailed';

/** Marks a deleted definition: its instances are deleted first. */
export function beginCleanup(crd: CustomResourceDefinition, now: number): CustomResourceDefinition {
  const finalizers = crd.metadata.finalizers ?? [];
  return {
    ...crd,
    metadata: {
      ...crd.metadata,
      finalizers: finalizers.includes(CLEANUP_FINALIZER) ? finalizers : [...finalizers, CLEANUP_FINALIZER],
    },
    status: terminating(crd, 'InstanceDeletionPending', now),
  };
}
