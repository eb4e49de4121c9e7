import type { KubeObject, ResourceRef } from '@holdfast/api';
import { misuse, plainName } from './misuse.ts';
import type { Session } from './session.ts';

/** A typed object reference: `pod web`, `pods/web`, `deploy.apps/web`. */
export interface Named {
  readonly resource: ResourceRef<KubeObject>;
  readonly name: string;
}

/** The meaning of the words; without a name, all objects of the resource. */
export interface Resolved {
  readonly resource: ResourceRef<KubeObject>;
  readonly named: readonly Named[];
}

export interface Served extends ResourceRef<KubeObject> {
  /** Plural, singular, kind and short names in lower case. */
  readonly calledBy: readonly string[];
  readonly verbs: readonly string[];
}

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** `<resource> <name>...` or `<resource>/<name>...`. */
export async function resolveWords(words: readonly string[], session: Session): Promise<Resolved> {
  const served = await discover(session);
  const [first = '', ...rest] = words;
  if (first === '') throw misuse('no resource was named', 'Name one, such as `pods`.');
  if (!first.includes('/')) {
    const resource = find(served, first);
    return { resource, named: rest.map((name) => ({ resource, name: plainName(name) })) };
  }
  const named = words.map((word) => {
    const [type = '', ...name] = word.split('/');
    return { resource: find(served, type), name: plainName(name.join('/')) };
  });
  return { resource: find(served, first.split('/')[0] ?? ''), named };
}

/** Maps words to resources: the core group first, then the groups in the server's order. */
export async function discover(session: Session): Promise<readonly Served[]> {
  const lists = await Promise.all(['/api', '/apis'].map((path) => session.read(path, AGGREGATED)));
  return lists.flatMap((list) => arrayAt(list, 'items').flatMap(servedOfGroup));
}

/** The preferred version of a group is its first one. */
function servedOfGroup(group: unknown): readonly Served[] {
  const name = textAt(at(group, 'metadata'), 'name');
  const [preferred] = arrayAt(group, 'versions');
  return arrayAt(preferred, 'resources').map((resource) => {
    const [plural, kind] = [textAt(resource, 'resource'), textAt(at(resource, 'responseKind'), 'kind')];
    const shortNames = arrayAt(resource, 'shortNames').map(String);
    return {
      group: name,
      version: textAt(preferred, 'version'),
      kind,
      plural,
      namespaced: textAt(resource, 'scope') === 'Namespaced',
      verbs: arrayAt(resource, 'verbs').map(String),
      calledBy: [plural, textAt(resource, 'singularResource'), kind.toLowerCase(), ...shortNames],
    };
  });
}

function find(served: readonly Served[], word: string): ResourceRef<KubeObject> {
  const [called = '', ...group] = word.toLowerCase().split('.');
  const found = served.find(
    (each) => each.calledBy.includes(called) && (group.length === 0 || each.group === group.join('.')),
  );
  if (found !== undefined) return found;
  throw misuse(`the API server has no resource "${word}"`, 'Give its kind first, as in `pods`, `pod/web` or `pv`.');
}

export const at = (value: unknown, field: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, field) : undefined;

export const textAt = (value: unknown, field: string): string => {
  const found = at(value, field);
  return typeof found === 'string' ? found : '';
};

export const arrayAt = (value: unknown, field: string): readonly unknown[] => {
  const found = at(value, field);
  return Array.isArray(found) ? found : [];
};
