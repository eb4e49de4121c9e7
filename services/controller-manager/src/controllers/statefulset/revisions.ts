import type { ControllerRevision, PodTemplateSpec, StatefulSet } from '@holdfast/api';
import { canonicalJson, safeHash } from '../../common/hash.ts';
import { byName, controllerReference, nameOf, namespaceOf } from '../../common/meta.ts';
import { isSameTemplate, revisionData } from '../../common/revision-data.ts';
import { REVISION_HISTORY_LIMIT_DEFAULT } from '../../limits.ts';

/** A state of the template that pods can be made of. */
export interface Revision {
  readonly name: string;
  readonly template: PodTemplateSpec;
}

export interface Revisions {
  /** The template of pods below the partition. */
  readonly current: Revision;
  readonly update: Revision;
  /** Store it before any pod refers to it; absent when it is stored, or when revisions cannot be stored. */
  readonly store: ControllerRevision | undefined;
}

/**
 * Returns the current and the update revision of a set. Where the API serves ControllerRevisions, they store the old
 * template, so that a lost pod below the partition is created again as it was. Without them only the current template
 * is known.
 */
export function revisionsOf(set: StatefulSet, stored: readonly ControllerRevision[] | undefined): Revisions {
  const history = [...(stored ?? [])].sort((a, b) => a.revision - b.revision || byName(a, b));
  const { template } = set.spec;
  // Two may have one template, when the name of the first was taken for a while: the newer counts, and stays it.
  const equal = history.findLast((revision) => isSameTemplate(templateIn(revision), template));
  const update = { name: equal === undefined ? nameFor(set) : nameOf(equal), template };
  const currentStored = history.find((revision) => nameOf(revision) === set.status.currentRevision);
  const currentTemplate = currentStored === undefined ? undefined : templateIn(currentStored);
  const current =
    currentStored === undefined || currentTemplate === undefined
      ? update
      : { name: nameOf(currentStored), template: currentTemplate };
  const last = history.at(-1);
  const isLatest = equal !== undefined && equal === last;
  if (stored === undefined || isLatest) return { current, update, store: undefined };
  const number = (last?.revision ?? 0) + 1;
  return {
    current,
    update,
    store: equal === undefined ? buildRevision(set, update, number) : { ...equal, revision: number },
  };
}

/** Made by a set of this name: one of a DaemonSet with the same labels holds another kind of data. */
export const isRevisionOf = (set: StatefulSet, revision: ControllerRevision): boolean =>
  nameOf(revision).startsWith(`${nameOf(set)}-`) && templateIn(revision) !== undefined;

const nameFor = (set: StatefulSet): string =>
  `${nameOf(set)}-${safeHash(`${canonicalJson(set.spec.template)}/${set.status.collisionCount ?? 0}`)}`;

function buildRevision(set: StatefulSet, { name, template }: Revision, revision: number): ControllerRevision {
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name,
      namespace: namespaceOf(set),
      labels: {
        ...set.spec.template.metadata?.labels,
        'controller.kubernetes.io/hash': name.slice(nameOf(set).length + 1),
      },
      ownerReferences: [controllerReference(set, { apiVersion: 'apps/v1', kind: 'StatefulSet' })],
    },
    data: revisionData(template),
    revision,
  };
}

/** The template as stored: what a revision holds is data of this controller, in the form of a patch of the set. */
export function templateIn(revision: ControllerRevision): PodTemplateSpec | undefined {
  const data: unknown = revision.data;
  if (!isRecord(data) || !isRecord(data.spec) || !isRecord(data.spec.template)) return undefined;
  const { $patch: _patch, ...template } = data.spec.template;
  return asTemplate(template);
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const asTemplate = (template: Record<string, unknown>): PodTemplateSpec => template as unknown as PodTemplateSpec;

/** Stored revisions beyond the history limit that nothing refers to, oldest first. */
export function outdatedRevisions(
  set: StatefulSet,
  stored: readonly ControllerRevision[],
  inUse: ReadonlySet<string>,
): readonly ControllerRevision[] {
  const unused = stored
    .filter((revision) => !inUse.has(nameOf(revision)))
    .sort((a, b) => a.revision - b.revision || byName(a, b));
  return unused.slice(
    0,
    Math.max(0, unused.length - (set.spec.revisionHistoryLimit ?? REVISION_HISTORY_LIMIT_DEFAULT)),
  );
}
