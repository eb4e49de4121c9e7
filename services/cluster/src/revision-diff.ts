import type { KubeObject } from '@holdfast/api';
import type { HistoryChange, HistoryRange } from '@holdfast/client/history-documents';
import { differenceBetween, type StateDifference } from './difference.ts';
import type { ClusterFetch } from './fetch.ts';
import { readHistory } from './history.ts';
import { badOption } from './options.ts';

/** Two revisions of one cluster. */
export interface RevisionRange {
  readonly from: number;
  /** Default: the newest one. */
  readonly to?: number;
}

/** An object that changed between the revisions, by its first and its last change. */
interface Changed {
  readonly object: HistoryChange['object'];
  readonly existed: boolean;
  exists: boolean;
}

const OBJECTS = '/holdfast.io/history/v1/objects';

/** What differs between two revisions, by the history of the cluster. What changed and changed back is no difference. */
export async function differencesOfRevisions(
  fetch: ClusterFetch,
  { from, to }: RevisionRange,
): Promise<readonly StateDifference[]> {
  if (to !== undefined && to < from) throw badOption(`revision ${to} is before ${from}`, 'Exchange from and to.');
  await refuseFuture(fetch, to ?? from);
  const changes = await readHistory(fetch, { from: `${from}`, ...(to === undefined ? {} : { to: `${to}` }) });
  const last = Number(changes.at(-1)?.revision ?? from);
  const changed = [...changedIn(changes)].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, each]) => each);
  const kinds = Object.values(Object.groupBy(changed, ({ object }) => `${object.group}/${object.resource}`));
  const differences = await Promise.all(kinds.map((each = []) => ofOneKind(fetch, each, { from, to: last })));
  return differences.flat();
}

async function refuseFuture(fetch: ClusterFetch, revision: number): Promise<void> {
  const { newest } = (await (await fetch('/holdfast.io/history/v1')).json()) as HistoryRange;
  if (revision <= Number(newest.revision)) return;
  throw badOption(`revision ${revision} has not happened yet`, `The newest one is ${newest.revision}.`);
}

function changedIn(changes: readonly HistoryChange[]): ReadonlyMap<string, Changed> {
  const changed = new Map<string, Changed>();
  for (const { object, type } of changes) {
    if (type === 'refused') continue;
    const key = keyOf(object.group, object.resource, object);
    const known = changed.get(key);
    if (known === undefined) changed.set(key, { object, existed: type !== 'created', exists: type !== 'deleted' });
    else known.exists = type !== 'deleted';
  }
  return changed;
}

const keyOf = (group: string, resource: string, { namespace = '', name = '' }: KubeObject['metadata']): string =>
  [group, resource, namespace, name].join('/');

async function ofOneKind(
  fetch: ClusterFetch,
  changed: readonly Changed[],
  range: Required<RevisionRange>,
): Promise<readonly StateDifference[]> {
  const [first] = changed;
  const isRead = changed.some(({ existed, exists }) => existed && exists);
  if (first === undefined) return [];
  const [before, after] = isRead
    ? await Promise.all([range.from, range.to].map((revision) => statesAt(fetch, first.object, revision)))
    : [];
  return changed.flatMap(({ object, existed, exists }) => {
    if (existed && exists) {
      const key = keyOf(object.group, object.resource, object);
      return differenceBetween(object, before?.get(key), after?.get(key));
    }
    return existed === exists ? [] : [{ type: exists ? ('created' as const) : ('deleted' as const), object }];
  });
}

/** Empty for a kind that is not served any more. */
async function statesAt(
  fetch: ClusterFetch,
  { group, resource }: HistoryChange['object'],
  revision: number,
): Promise<ReadonlyMap<string, unknown>> {
  const place = group === '' ? 'api/v1' : `apis/${await versionOf(fetch, group)}`;
  const answer = await fetch(`${OBJECTS}/${place}/${resource}?revision=${revision}`);
  if (answer.status !== 200) return new Map();
  const { items } = (await answer.json()) as { readonly items: readonly KubeObject[] };
  return new Map(items.map((item) => [keyOf(group, resource, item.metadata), item]));
}

/** `apps/v1`: the version that the server prefers. */
async function versionOf(fetch: ClusterFetch, group: string): Promise<string> {
  const answer = await fetch(`/apis/${group}`);
  if (answer.status !== 200) return group;
  const { preferredVersion } = (await answer.json()) as { readonly preferredVersion: { groupVersion: string } };
  return preferredVersion.groupVersion;
}
