import { CATEGORIES, SHORT_NAMES } from './kind-names.ts';
import type { Gvk, Operation, Struct, Swagger } from './swagger.ts';

export interface Subresource extends Gvk {
  readonly name: string;
  readonly verbs: readonly string[];
}

export interface Kind extends Gvk {
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
  /** `core.v1.Pod` */
  readonly struct: string;
  readonly answersDeleted: boolean;
}

interface Draft {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  namespaced: boolean;
  gvk: Gvk | undefined;
  answersDeleted: boolean;
  readonly verbs: Set<string>;
  readonly subresources: Map<string, { gvk: Gvk | undefined; readonly verbs: Set<string> }>;
}

const PATH =
  /^\/(?:api\/(?<core>v1)|apis\/(?<group>[^/]+)\/(?<version>[^/]+))\/(?<watch>watch\/)?(?<ns>namespaces\/\{namespace\}\/)?(?<plural>[a-z]+)(?:\/\{name\}(?:\/(?<sub>[a-z]+))?)?$/;

/** Every kind that the paths of the document serve in a stable group version. */
export function kinds(swagger: Swagger, structs: readonly Struct[]): readonly Kind[] {
  const structOf = new Map<string, string>();
  for (const struct of structs) {
    for (const gvk of struct.definition['x-kubernetes-group-version-kind'] ?? []) structOf.set(key(gvk), struct.name);
  }
  const drafts = collect(swagger);
  const served: Kind[] = [];
  for (const draft of drafts.values()) {
    const struct = draft.gvk === undefined ? undefined : structOf.get(key(draft.gvk));
    if (draft.gvk !== undefined && struct !== undefined) served.push(finish(draft, draft.gvk, struct));
  }
  return served.sort((a, b) => order(a).localeCompare(order(b), 'en'));
}

const key = (gvk: Gvk): string => `${gvk.group}/${gvk.version}/${gvk.kind}`;
const order = (kind: Kind): string => `${kind.group}/${kind.version}/${kind.plural}`;

function collect(swagger: Swagger): ReadonlyMap<string, Draft> {
  const drafts = new Map<string, Draft>();
  for (const [path, operations] of Object.entries(swagger.paths)) {
    const parts = PATH.exec(path)?.groups;
    if (parts === undefined || parts['plural'] === undefined) continue;
    const group = parts['core'] === undefined ? (parts['group'] ?? '') : '';
    const version = parts['core'] ?? parts['version'] ?? '';
    const id = `${group}/${version}/${parts['plural']}`;
    const draft = drafts.get(id) ?? emptyDraft(group, version, parts['plural']);
    drafts.set(id, draft);
    if (parts['ns'] !== undefined) draft.namespaced = true;
    for (const [method, operation] of Object.entries(operations)) addOperation(draft, parts['sub'], method, operation);
  }
  return drafts;
}

const emptyDraft = (group: string, version: string, plural: string): Draft => ({
  group,
  version,
  plural,
  namespaced: false,
  gvk: undefined,
  answersDeleted: false,
  verbs: new Set(),
  subresources: new Map(),
});

function addOperation(draft: Draft, subresource: string | undefined, method: string, operation: Operation): void {
  const verb = verbOf(method, operation['x-kubernetes-action']);
  if (verb === undefined) return;
  const gvk = operation['x-kubernetes-group-version-kind'];
  if (subresource === undefined) {
    draft.gvk ??= gvk;
    draft.verbs.add(verb);
    if (verb === 'delete') draft.answersDeleted = !isStatus(operation);
    return;
  }
  const existing = draft.subresources.get(subresource) ?? { gvk, verbs: new Set<string>() };
  existing.verbs.add(verb);
  draft.subresources.set(subresource, existing);
}

const isStatus = ({ responses }: Operation): boolean =>
  responses?.['200']?.schema?.$ref === '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Status';

function verbOf(method: string, action: string | undefined): string | undefined {
  if (action === 'connect')
    return { get: 'get', post: 'create', put: 'update', patch: 'patch', delete: 'delete' }[method];
  if (action === 'post') return 'create';
  if (action === 'put') return 'update';
  if (action === 'watchlist') return 'watch';
  return action;
}

function finish(draft: Draft, gvk: Gvk, struct: string): Kind {
  const subresources = [...draft.subresources]
    .map(([name, sub]) => ({ name, verbs: [...sub.verbs].sort(), ...(sub.gvk ?? gvk) }))
    .sort((a, b) => a.name.localeCompare(b.name, 'en'));
  return {
    group: draft.group,
    version: draft.version,
    kind: gvk.kind,
    plural: draft.plural,
    singular: gvk.kind.toLowerCase(),
    namespaced: draft.namespaced,
    verbs: [...draft.verbs].sort(),
    shortNames: SHORT_NAMES[draft.plural] ?? [],
    categories: CATEGORIES[draft.plural] ?? [],
    subresources,
    struct,
    answersDeleted: draft.answersDeleted,
  };
}
