import { type Api, ApiFailure } from './api.ts';
import { objectHash, type ResourceName } from './routes.ts';

const ROOT = '/holdfast.io/history/v1';

export interface Moment {
  readonly revision: string;
  readonly time: string;
}

/** What is kept. */
export interface HistoryRange {
  readonly oldest: Moment;
  readonly newest: Moment;
}

/** One write, as the history tells it. */
export interface Change {
  readonly revision: string;
  readonly time: string;
  readonly type: 'created' | 'updated' | 'deleted' | 'refused';
  readonly reason?: string;
  readonly object: {
    readonly group: string;
    readonly resource: string;
    readonly namespace?: string;
    readonly name: string;
  };
  readonly by?: {
    readonly user?: string;
    readonly manager?: string;
    readonly verb?: string;
    readonly subresource?: string;
  };
  readonly diff?: readonly Difference[];
  readonly diffCut?: boolean;
}

export interface Difference {
  readonly op: string;
  readonly path: string;
  readonly from?: unknown;
  readonly value?: unknown;
}

/** Absent: this server keeps no history, or none for this user. */
export async function readRange(api: Api): Promise<HistoryRange | undefined> {
  try {
    return await api.json<HistoryRange>(ROOT);
  } catch (error) {
    if (error instanceof ApiFailure && error.isFinal) return undefined;
    throw error;
  }
}

/** The revision of a moment; empty when it is not known, or not to this user. */
export async function revisionAt(api: Api, path: string, time: string): Promise<string> {
  const asked = { query: { time, limit: '1' }, accept: 'application/json' };
  const list = await api.json<ListHead>(pastPath(path), asked).catch((): ListHead => ({}));
  return list.metadata?.resourceVersion ?? '';
}

interface ListHead {
  readonly metadata?: { readonly resourceVersion?: string };
}

/** The address of a collection or an object in the past. */
export const pastPath = (path: string): string => `${ROOT}/objects${path}`;

export interface ChangesAsked {
  /** Of these objects; empty: of all. */
  readonly path: string;
  readonly fromTime: string;
  /** Empty: until now. */
  readonly toTime: string;
  readonly keeps?: (change: Change) => boolean;
  readonly signal?: AbortSignal;
}

/** What a page shows. */
const CHANGES_SHOWN_MAX = 500;
const PAGE_CHANGES = 1_000;
/** The endpoint begins with the oldest: longer spans than these pages show their beginning. */
const PAGES_MAX = 20;

interface ChangeList {
  readonly metadata?: { readonly continue?: string };
  readonly items?: readonly Change[];
}

/** The newest first. */
export async function readChanges(api: Api, asked: ChangesAsked): Promise<readonly Change[]> {
  const { path, fromTime, toTime, signal } = asked;
  const query = { fromTime, limit: String(PAGE_CHANGES), ...(toTime === '' ? {} : { toTime }) };
  let newest: readonly Change[] = [];
  let token = '';
  for (let page = 0; page < PAGES_MAX; page++) {
    const { items = [], metadata }: ChangeList = await api.json(`${ROOT}/changes${path}`, {
      query: { ...query, ...(token === '' ? {} : { continue: token }) },
      ...(signal === undefined ? {} : { signal }),
    });
    const wanted = asked.keeps === undefined ? items : items.filter(asked.keeps);
    newest = [...newest, ...wanted].slice(-CHANGES_SHOWN_MAX);
    token = metadata?.continue ?? '';
    if (token === '') break;
  }
  return newest.toReversed();
}

/** Leases and events are written all the time and say little about what somebody did. */
export const isNoise = ({ object }: Change): boolean => ['leases', 'events'].includes(object.resource);

/** The user, or what the object itself says of its writer. */
export const writerOf = ({ by }: Change): string => by?.user ?? by?.manager ?? 'not known';

const versionOf = (object: Change['object'], kinds: readonly ResourceName[]): ResourceName | undefined =>
  kinds.find(({ group, plural }) => plural === object.resource && group === object.group);

/** Empty for kinds that are no longer served. */
export function hashOf({ object }: Change, kinds: readonly ResourceName[]): string {
  const resource = versionOf(object, kinds);
  return resource === undefined ? '' : objectHash(resource, object.namespace ?? '', object.name);
}

const VALUE_SHOWN_MAX = 160;

/** `spec.replicas` of `/spec/replicas`. */
export const fieldOf = ({ path }: Difference): string =>
  path
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');

export function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text === undefined) return '';
  return text.length > VALUE_SHOWN_MAX ? `${text.slice(0, VALUE_SHOWN_MAX)}...` : text;
}
