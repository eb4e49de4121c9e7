import { allResources, type KubeObject, type ResourceRef } from '@holdfast/api';
import { type ApiClient, collectionPath, type KubeList, NOTHING_SEEN, shareSeen } from '@holdfast/client';
import type { Revision, Store } from '@holdfast/store';

type ListOptions = NonNullable<Parameters<ApiClient['list']>[1]>;

/** What the API answers to the first lists of the components of a cluster that continues from one state. */
export class FirstLists {
  readonly #lists = new Map<string, KubeList<KubeObject>>();

  /** The key names the resource, so it names the type of the objects. */
  get<T extends KubeObject>(key: string): KubeList<T> | undefined {
    return this.#lists.get(key) as KubeList<T> | undefined;
  }

  /** The objects are frozen, and shared by the clusters that continue from this state. */
  keep(key: string, { resourceVersion, continueToken, items }: KubeList<KubeObject>): void {
    this.#lists.set(key, { resourceVersion, continueToken, items });
  }
}

export interface FirstListsDeps {
  readonly lists: FirstLists;
  /** That of the state. */
  readonly revision: Revision;
  readonly store: Store;
  readonly client: ApiClient;
  readonly user: string;
}

/**
 * The API for a component of a cluster that continues from a state. As long as nothing was written, the list of an
 * informer that has seen nothing is that of every other cluster that continued from there: it is served, parsed and
 * decoded once. The history is another one, so the list names none.
 */
export function withFirstLists({ lists, revision, store, client, user }: FirstListsDeps): ApiClient {
  const isUnchanged = async (): Promise<boolean> => (await store.currentRevision()) === revision;
  const list: ApiClient['list'] = async <T extends KubeObject>(resource: ResourceRef<T>, options: ListOptions = {}) => {
    const path = collectionPath(resource, options.namespace);
    if (!isFirstList(path, options) || !(await isUnchanged())) return client.list(resource, options);
    const key = `${user} ${path} ${selectionOf(options)}`;
    const known = lists.get<T>(key);
    if (known !== undefined) return known;
    const listed = await client.list(resource, options);
    if (await isUnchanged()) lists.keep(key, listed);
    return listed;
  };
  const around = { ...client, list };
  shareSeen(client, around);
  return around;
}

/** Of built-in kinds: another program may convert custom ones. */
const isFirstList = (path: string, { seen, continueToken, resourceVersion }: ListOptions): boolean =>
  seen === NOTHING_SEEN && continueToken === undefined && resourceVersion === undefined && builtIn().has(path);

const selectionOf = ({ labelSelector = '', fieldSelector = '', limit = 0, metadataOnly }: ListOptions) =>
  [limit, metadataOnly === true, labelSelector, fieldSelector].join('\n');

let paths: ReadonlySet<string> | undefined;
const builtIn = (): ReadonlySet<string> =>
  (paths ??= new Set(allResources().map((resource) => collectionPath(resource, undefined))));
