import type { HttpMethod } from '@holdfast/client';

/** The least privileged user who can send a request; the names are tokens of the servers under test. */
export type Sender = 'nobody' | 'editor' | 'admin';

export interface PlainRequest {
  readonly method: HttpMethod;
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Made when it is sent: the corpus is too large to be held in memory. */
  readonly body?: () => string;
}

/** A request that costs more than its size justifies, or once did. */
export interface HostileRequest extends PlainRequest {
  readonly name: string;
  readonly sender: Sender;
  /**
   * Requests of an administrator before it, in this order; each may fail when an earlier run has left the object
   * behind.
   */
  readonly before?: readonly PlainRequest[];
  /** Concurrency; default 1. */
  readonly atOnce?: number;
  /** A watch: its answer does not end by itself. */
  readonly staysOpen?: true;
}

/** The largest accepted body, minus a little for the structure around the list of a request. */
export const BODY_BYTES = 3 * 1024 * 1024 - 8 * 1024;

/** The maximum size of a storable object with its managedFields. */
export const STORED_BYTES = 512 * 1024;

/** The longest URL that fits into the headers of a request. */
export const URL_BYTES = 60 * 1024;

/** The maximum entries of one list. */
const ENTRIES = 10_000;

/** As many values as fit into this many bytes of JSON, up to the limit of values. */
export const filled = <T>(bytes: number, make: (index: number) => T): readonly T[] => overfilled(bytes, make, ENTRIES);

/** As many as fit. The last of each group is measured: its number is the longest. */
export function overfilled<T>(bytes: number, make: (index: number) => T, entries = Infinity): readonly T[] {
  const values: T[] = [];
  let size = 0;
  for (let left = bytes; ; left -= size) {
    const value = make(values.length);
    if (values.length % GROUP === 0) size = JSON.stringify(make(values.length + GROUP - 1)).length + 1;
    if (left < size || values.length === entries) return values;
    values.push(value);
  }
}

const GROUP = 64;

/** The same as members of an object. */
export function filledMap<T>(bytes: number, make: (index: number) => readonly [string, T]): Record<string, T> {
  // An array of a name and a value is as long as a member.
  return Object.fromEntries(filled(bytes, make));
}

/** As many pieces of text as fit. */
export const filledText = (bytes: number, make: (index: number) => string, separator = ','): string =>
  overfilled(bytes, (index) => make(index)).join(separator);

export const NAMESPACE = 'default';
export const CORE = `/api/v1/namespaces/${NAMESPACE}`;
export const groupPath = (groupVersion: string): string => `/apis/${groupVersion}/namespaces/${NAMESPACE}`;

/** A POST of a document that is made when it is sent. */
export function creation(
  name: string,
  path: string,
  make: () => unknown,
  more: Partial<HostileRequest> = {},
): HostileRequest {
  return {
    name,
    sender: 'editor',
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json' },
    body: () => JSON.stringify(make()),
    ...more,
  };
}

/** An object that an administrator stores before a request. */
export const stored = (path: string, make: () => unknown): PlainRequest => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body: () => JSON.stringify(make()),
});
