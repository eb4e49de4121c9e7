import { EVENTS } from '@holdfast/api/facts';
import { formatMicroTime, parseTime } from '@holdfast/platform/time';
import type { HistoryChange, HistoryRange } from '../history/documents.ts';
import { HISTORY_PATH, type ReadDocument, readChanges } from '../history/read-changes.ts';
import { createReader, type ReadingClient } from '../why/reader.ts';
import type { FilmMaterial, FilmResource } from './model.ts';

/** Where the objects are in the API. */
const PATHS: Readonly<Record<FilmResource, string>> = {
  nodes: '/api/v1/nodes',
  leases: '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases',
  pods: '/api/v1/pods',
  persistentvolumes: '/api/v1/persistentvolumes',
};

/** Contents of created objects that are read, the newest first; older ones are known by their changes alone. */
const MADE_MAX = 300;
const READ_AT_ONCE = 8;

export interface MaterialFound {
  readonly material: FilmMaterial;
  /** True when later changes are left out. */
  readonly isCut: boolean;
}

export interface FilmQuestion {
  readonly sinceMs: number;
  /** Present: of other nodes nothing is read, so that a large cluster is no hindrance. */
  readonly node: string | undefined;
  /** The end of the film; absent: now. */
  readonly untilMs?: number;
}

export interface FilmSource {
  readonly read: ReadDocument;
  readonly client: ReadingClient;
}

/** Reads what a film needs, at one pair of revisions. The time is that of the server. */
export async function readMaterial(
  { read, client }: FilmSource,
  { sinceMs, node, untilMs }: FilmQuestion,
): Promise<MaterialFound> {
  const range = (await read(HISTORY_PATH)) as HistoryRange;
  const toMs = untilMs ?? parseTime(range.newest.time) ?? 0;
  const oldestMs = parseTime(range.oldest.time) ?? 0;
  const fromMs = Math.max(toMs - sinceMs, oldestMs);
  const moment = fromMs === oldestMs ? { revision: range.oldest.revision } : { time: formatMicroTime(fromMs) };
  const only: Readonly<Record<string, string>> = node === undefined ? {} : { fieldSelector: `metadata.name=${node}` };
  const nodes = await listAt(read, 'nodes', { ...moment, ...only });
  const from = { revision: nodes.revision };
  const [leases, pods, persistentvolumes] = await Promise.all([
    listAt(read, 'leases', { ...from, ...only }),
    listAt(read, 'pods', from),
    listAt(read, 'persistentvolumes', from),
  ]);
  const before = {
    nodes: nodes.items,
    leases: leases.items,
    pods: pods.items,
    persistentvolumes: persistentvolumes.items,
  };
  const end = untilMs === undefined ? { to: range.newest.revision } : { toTime: formatMicroTime(untilMs) };
  const query = { from: from.revision, ...end };
  const places = [placeOf('nodes', node), placeOf('leases', node), PATHS.pods, PATHS.persistentvolumes];
  const found = await Promise.all(places.map((place) => readChanges(read, place, query)));
  const changes = found.flatMap((each) => each.changes).sort((a, b) => Number(a.revision) - Number(b.revision));
  const made = await readMade(read, changes);
  const events = await createReader(client).list(EVENTS);
  const material = { before, changes, made, events, fromMs, toMs };
  return { material, isCut: found.some(({ isCut }) => isCut) };
}

const placeOf = (resource: FilmResource, name: string | undefined): string =>
  name === undefined ? PATHS[resource] : `${PATHS[resource]}/${encodeURIComponent(name)}`;

interface ListFound {
  readonly revision: string;
  readonly items: readonly unknown[];
}

async function listAt(
  read: ReadDocument,
  resource: FilmResource,
  moment: Readonly<Record<string, string>>,
): Promise<ListFound> {
  const path = `${HISTORY_PATH}/objects${PATHS[resource]}`;
  const list = (await read(path, new URLSearchParams(moment))) as {
    readonly metadata: { readonly resourceVersion: string };
    readonly items: readonly unknown[];
  };
  return { revision: list.metadata.resourceVersion, items: list.items };
}

/** The changes say of a created object only that it was created. */
async function readMade(read: ReadDocument, changes: readonly HistoryChange[]): Promise<ReadonlyMap<string, unknown>> {
  const created = changes.filter(({ type }) => type === 'created').slice(-MADE_MAX);
  const made = new Map<string, unknown>();
  for (let first = 0; first < created.length; first += READ_AT_ONCE) {
    const some = created.slice(first, first + READ_AT_ONCE);
    const contents = await Promise.all(some.map((change) => objectAt(read, change)));
    for (const [i, { revision }] of some.entries()) made.set(revision, contents[i]);
  }
  return made;
}

async function objectAt(read: ReadDocument, { object, revision }: HistoryChange): Promise<unknown> {
  const { resource, namespace, name } = object;
  const list = PATHS[resource as FilmResource];
  const place = resource === 'pods' ? `/api/v1/namespaces/${namespace ?? ''}/pods` : list;
  const query = new URLSearchParams({ revision });
  return read(`${HISTORY_PATH}/objects${place}/${name}`, query);
}
