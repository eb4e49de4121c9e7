/** Where a person is; the part of the address behind `#`. */
export type Route =
  | { readonly page: 'overview' }
  | { readonly page: 'list'; readonly resource: ResourceName; readonly filter: Filter }
  | {
      readonly page: 'object';
      readonly resource: ResourceName;
      readonly namespace: string;
      readonly name: string;
      readonly tab: string;
    }
  | { readonly page: 'kinds' }
  | { readonly page: 'time' }
  | { readonly page: 'hearing' }
  | { readonly page: 'play' }
  | { readonly page: 'film'; readonly node: string };

/** `apps/v1/deployments`; the group of the first kinds is `core`. */
export interface ResourceName {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

export interface Filter {
  /** Empty: all. */
  readonly namespace: string;
  readonly labels: string;
  readonly fields: string;
  /** Searched in the cells. */
  readonly words: string;
}

export const NO_FILTER: Filter = { namespace: '', labels: '', fields: '', words: '' };

export function readRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const parts = path.split('/').map(decode);
  const query = new URLSearchParams(search);
  const [page, group = '', version = '', plural = ''] = parts;
  const resource = { group: group === 'core' ? '' : group, version, plural };
  if (page === 'list' && plural !== '') return { page, resource, filter: readFilter(query) };
  if (page === 'object' && parts.length >= 6) {
    const [namespace = '', name = ''] = parts.slice(4);
    const tab = query.get('tab') ?? 'summary';
    return { page, resource, namespace: namespace === '-' ? '' : namespace, name, tab };
  }
  if (page === 'kinds' || page === 'time' || page === 'play' || page === 'hearing') return { page };
  if (page === 'film') return { page, node: group };
  return { page: 'overview' };
}

function readFilter(query: URLSearchParams): Filter {
  const text = (name: string): string => query.get(name) ?? '';
  return { namespace: text('namespace'), labels: text('labels'), fields: text('fields'), words: text('words') };
}

/** The losses of a node. */
export const filmHash = (node: string): string => `#/film/${encodeURIComponent(node)}`;

const nameOf = ({ group, version, plural }: ResourceName): string =>
  [group === '' ? 'core' : group, version, plural].join('/');

export function listHash(resource: ResourceName, filter: Partial<Filter> = {}): string {
  const given = Object.entries({ ...NO_FILTER, ...filter }).filter(([, value]) => value !== '');
  const query = new URLSearchParams(given).toString();
  return `#/list/${nameOf(resource)}${query === '' ? '' : `?${query}`}`;
}

export function objectHash(resource: ResourceName, namespace: string, name: string, tab = ''): string {
  const where = [namespace === '' ? '-' : namespace, name].map(encodeURIComponent).join('/');
  return `#/object/${nameOf(resource)}/${where}${tab === '' ? '' : `?tab=${tab}`}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const PODS: ResourceName = { group: '', version: 'v1', plural: 'pods' };
export const NODES: ResourceName = { group: '', version: 'v1', plural: 'nodes' };
export const NAMESPACES: ResourceName = { group: '', version: 'v1', plural: 'namespaces' };
export const EVENTS: ResourceName = { group: '', version: 'v1', plural: 'events' };

/** The address of a collection, or of one of its objects. */
export function pathOf({ group, version, plural }: ResourceName, namespace = '', name = ''): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const inside = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${inside}/${plural}${name === '' ? '' : `/${encodeURIComponent(name)}`}`;
}
