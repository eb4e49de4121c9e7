import { EVENTS, type Event, type KubeObject, type ResourceRef } from '@holdfast/api/facts';
import { parseTime } from '@holdfast/platform/time';
import type { ApiClient, Target } from '../port.ts';

/** `unread`: the user may not read it, so its absence proves nothing. */
export type Known<T> = T | 'absent' | 'unread';

export const known = <T extends object>(object: Known<T>): T | undefined =>
  typeof object === 'string' ? undefined : object;

/** Reads what an explanation needs. What the user may not read is missing, and named in `unread`. */
export interface Reader {
  find<T extends KubeObject>(resource: ResourceRef<T>, target: Target): Promise<Known<T>>;
  list<T extends KubeObject>(resource: ResourceRef<T>, namespace?: string): Promise<readonly T[]>;
  /** Events about an object, the newest first. */
  events(object: KubeObject): Promise<readonly Event[]>;
  /** Plurals of resources that the user may not read. */
  readonly unread: ReadonlySet<string>;
}

const MOST_EVENTS = 500;

/** The part of a client that reads. */
export type ReadingClient = Pick<ApiClient, 'find' | 'list'>;

export function createReader(client: ReadingClient): Reader {
  const unread = new Set<string>();
  const permitted = async <T, N>(plural: string, read: () => Promise<T>, instead: N): Promise<T | N> => {
    try {
      return await read();
    } catch (error) {
      if (!isForbidden(error)) throw error;
      unread.add(plural);
      return instead;
    }
  };
  return {
    unread,
    find: (resource, target) =>
      permitted(
        resource.plural,
        async () => (await client.find(resource, target)) ?? ('absent' as const),
        'unread' as const,
      ),
    list: (resource, namespace) =>
      permitted(resource.plural, async () => (await client.list(resource, within(namespace))).items, []),
    events: ({ kind, metadata }) => {
      const about = `involvedObject.kind=${kind},involvedObject.name=${metadata.name ?? ''}`;
      const selection = { ...within(metadata.namespace ?? 'default'), fieldSelector: about, limit: MOST_EVENTS };
      return permitted(
        EVENTS.plural,
        async () => newestFirst((await client.list(EVENTS, selection)).items, metadata),
        [],
      );
    },
  };
}

/** A refusal of the API, whichever client met it. */
const isForbidden = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 403;

const within = (namespace: string | undefined): { readonly namespace?: string } =>
  namespace === undefined ? {} : { namespace };

/** Without those about an earlier object of the name. */
const newestFirst = (events: readonly Event[], { uid }: KubeObject['metadata']): readonly Event[] =>
  events.filter(({ involvedObject }) => (involvedObject.uid ?? uid) === uid).toSorted((a, b) => timeOf(b) - timeOf(a));

const timeOf = (event: Event): number =>
  parseTime(
    event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? '',
  ) ?? 0;
