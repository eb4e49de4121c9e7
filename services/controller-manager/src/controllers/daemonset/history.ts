import { CONTROLLER_REVISIONS, type ControllerRevision, DAEMON_SETS, type DaemonSet, type Pod } from '@holdfast/api';
import { claim } from '../../common/claim.ts';
import type { ControllerContext } from '../../common/context.ts';
import { isSame } from '../../common/hash.ts';
import { mayAdopt } from '../../common/live-check.ts';
import {
  byName,
  controllerReference,
  isControlledBy,
  isTerminating,
  keyOf,
  nameOf,
  namespaceOf,
  targetOf,
  uidOf,
  withOwner,
} from '../../common/meta.ts';
import { revisionData } from '../../common/revision-data.ts';
import { inParallel, isAlreadyExists, isNamespaceTerminating, unlessChanged } from '../../common/writes.ts';
import { REVISION_HISTORY_LIMIT_DEFAULT } from '../../limits.ts';
import { REVISION_LABEL, revisionOf } from './decide.ts';

/** Templates the set has had, for `kubectl rollout history` and `undo`. Pods are made of the present one only. */
export interface HistorySnapshot {
  readonly set: DaemonSet;
  /** The revisions it controls and those of its namespace without a controller. */
  readonly revisions: readonly ControllerRevision[];
  readonly pods: readonly Pod[];
}

export type HistoryAction = {
  readonly type: 'store' | 'adopt' | 'renumber' | 'delete';
  readonly revision: ControllerRevision;
};

export function decideHistory({ set, revisions, pods }: HistorySnapshot): readonly HistoryAction[] {
  if (isTerminating(set)) return [];
  const { owned, adopt } = claim(set, revisions);
  if (adopt.length > 0) return adopt.map((revision) => ({ type: 'adopt', revision }));
  const history = owned.toSorted((a, b) => a.revision - b.revision || byName(a, b));
  const present = findPresent(set, history);
  const last = history.at(-1);
  const next = (last?.revision ?? 0) + 1;
  if (present === undefined) return [{ type: 'store', revision: buildRevision(set, next) }];
  // A template that comes back, as after an undo, is the newest revision again.
  if (present !== last) return [{ type: 'renumber', revision: { ...present, revision: next } }];
  const earlier = history.filter((each) => each !== present);
  return outdated(set, earlier, pods).map((revision) => ({ type: 'delete', revision }));
}

/**
 * Returns the newest revision with the current template, whatever its name: of two with one template the older is
 * superfluous.
 */
function findPresent(set: DaemonSet, history: readonly ControllerRevision[]): ControllerRevision | undefined {
  const last = history.at(-1);
  if (last !== undefined && nameOf(last) === nameFor(set)) return last;
  const data = revisionData(set.spec.template);
  return history.findLast((each) => isSame(each.data, data)) ?? history.find((each) => nameOf(each) === nameFor(set));
}

const nameFor = (set: DaemonSet): string => `${nameOf(set)}-${revisionOf(set)}`;

function buildRevision(set: DaemonSet, revision: number): ControllerRevision {
  const { template } = set.spec;
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: nameFor(set),
      namespace: namespaceOf(set),
      labels: { ...template.metadata?.labels, [REVISION_LABEL]: revisionOf(set) },
      ...(set.metadata.annotations === undefined ? {} : { annotations: set.metadata.annotations }),
      ownerReferences: [controllerReference(set, { apiVersion: 'apps/v1', kind: 'DaemonSet' })],
    },
    data: revisionData(template),
    revision,
  };
}

/** Beyond the limit, oldest first, and of no living pod. */
function outdated(
  set: DaemonSet,
  history: readonly ControllerRevision[],
  pods: readonly Pod[],
): readonly ControllerRevision[] {
  const inUse = new Set([revisionOf(set), ...pods.map((pod) => pod.metadata.labels?.[REVISION_LABEL])]);
  const unused = history.filter((each) => !inUse.has(each.metadata.labels?.[REVISION_LABEL]));
  return unused.slice(
    0,
    Math.max(0, unused.length - (set.spec.revisionHistoryLimit ?? REVISION_HISTORY_LIMIT_DEFAULT)),
  );
}

export async function keepHistory(
  context: ControllerContext,
  set: DaemonSet,
  actions: readonly HistoryAction[],
): Promise<Error | undefined> {
  return inParallel(actions, (action) => perform(context, set, action));
}

async function perform(context: ControllerContext, set: DaemonSet, { type, revision }: HistoryAction): Promise<void> {
  const { client } = context;
  switch (type) {
    case 'store':
      return store(context, set, revision);
    case 'adopt': {
      if (!(await mayAdopt(context, { resource: DAEMON_SETS, object: set }))) return;
      const owner = controllerReference(set, { apiVersion: 'apps/v1', kind: 'DaemonSet' });
      await unlessChanged(() => client.update(CONTROLLER_REVISIONS, withOwner(revision, owner)));
      return;
    }
    case 'renumber':
      await unlessChanged(() => client.update(CONTROLLER_REVISIONS, revision));
      return;
    case 'delete':
      await unlessChanged(() => client.delete(CONTROLLER_REVISIONS, targetOf(revision), { uid: uidOf(revision) }));
  }
}

/** The name follows from the template: it is taken by this set's own revision, seen late, or by a stranger's. */
async function store({ client, log }: ControllerContext, set: DaemonSet, revision: ControllerRevision): Promise<void> {
  try {
    await client.create(CONTROLLER_REVISIONS, revision);
  } catch (error) {
    if (isNamespaceTerminating(error)) return;
    if (!isAlreadyExists(error)) throw error;
    const holder = await client.find(CONTROLLER_REVISIONS, targetOf(revision));
    if (holder === undefined || isControlledBy(holder, uidOf(set))) return;
    log.warn('a revision is missing from the history: its name is taken', { set: keyOf(set), name: nameOf(revision) });
  }
}
