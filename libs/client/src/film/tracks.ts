import { parseTime } from '@holdfast/platform/time';
import type { HistoryChange } from '../history/documents.ts';
import {
  type LeaseFacts,
  leaseFacts,
  type NodeFacts,
  nodeFacts,
  type PodFacts,
  podFacts,
  type VolumeFacts,
  volumeFacts,
} from './facts.ts';
import type { FilmMaterial, FilmResource } from './model.ts';
import { applyDifferences } from './replay.ts';

/** What is true of an object from a moment on. */
export interface Point<F> {
  readonly atMs: number;
  /** 0: it was so at the beginning. */
  readonly revision: number;
  /** Absent: there is no such object. */
  readonly facts: F | undefined;
  readonly by?: string;
}

/** By name (`namespace/name` for pods): oldest first. */
export type Tracks<F> = ReadonlyMap<string, readonly Point<F>[]>;

export interface Story {
  readonly nodes: Tracks<NodeFacts>;
  readonly leases: Tracks<LeaseFacts>;
  readonly pods: Tracks<PodFacts>;
  readonly volumes: Tracks<VolumeFacts>;
}

/** Returns what was true of each object, and from when on. */
export function storyOf(material: FilmMaterial): Story {
  return {
    nodes: tracksOf(material, 'nodes', nodeFacts),
    leases: tracksOf(material, 'leases', leaseFacts),
    pods: tracksOf(material, 'pods', podFacts),
    volumes: tracksOf(material, 'persistentvolumes', volumeFacts),
  };
}

function tracksOf<F>(material: FilmMaterial, resource: FilmResource, read: (object: object) => F): Tracks<F> {
  const { before, changes, made, fromMs } = material;
  const objects = new Map<string, object>();
  const tracks = new Map<string, Point<F>[]>();
  for (const each of before[resource]) {
    if (typeof each !== 'object' || each === null) continue;
    const name = nameIn(each);
    objects.set(name, structuredClone(each));
    tracks.set(name, [{ atMs: fromMs, revision: 0, facts: read(each) }]);
  }
  let atMs = fromMs;
  for (const change of changes) {
    // The clock of the server may be set back: what came later is never shown earlier.
    atMs = Math.max(atMs, parseTime(change.time) ?? atMs);
    if (change.object.resource !== resource || change.type === 'refused') continue;
    const name = keyOf(resource, change.object);
    const object = objectAfter(change, objects.get(name), made);
    if (object === undefined) objects.delete(name);
    else objects.set(name, object);
    const facts = object === undefined ? undefined : read(object);
    const author = change.by?.user;
    const point = { atMs, revision: Number(change.revision), facts, ...(author === undefined ? {} : { by: author }) };
    append(tracks, name, point);
  }
  return tracks;
}

function append<F>(tracks: Map<string, Point<F>[]>, name: string, point: Point<F>): void {
  const points = tracks.get(name);
  if (points === undefined) tracks.set(name, [point]);
  else if (JSON.stringify(points.at(-1)?.facts) !== JSON.stringify(point.facts)) points.push(point);
}

function objectAfter(
  { type, revision, diff = [] }: HistoryChange,
  before: object | undefined,
  made: ReadonlyMap<string, unknown>,
): object | undefined {
  if (type === 'deleted') return undefined;
  if (type === 'created') {
    const content = made.get(revision);
    return typeof content === 'object' && content !== null ? structuredClone(content) : {};
  }
  const object = before ?? {};
  applyDifferences(object, diff);
  return object;
}

const keyOf = (resource: FilmResource, { namespace, name }: HistoryChange['object']): string =>
  resource === 'pods' ? `${namespace ?? ''}/${name}` : name;

function nameIn(object: object): string {
  const { metadata } = object as { readonly metadata?: { readonly namespace?: string; readonly name?: string } };
  const isPod = metadata?.namespace !== undefined && metadata.namespace !== 'kube-node-lease';
  return isPod ? `${metadata.namespace}/${metadata.name ?? ''}` : (metadata?.name ?? '');
}

/** What was true at a moment. */
export const pointAt = <F>(points: readonly Point<F>[], atMs: number): Point<F> | undefined =>
  points.findLast((point) => point.atMs <= atMs);
