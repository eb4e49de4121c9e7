import { isBuiltInGroup, type ServedKind } from '../endpoints/served-kinds.ts';
import { groupVersion, listKindName } from '../objects/object-keys.ts';
import { customSchemaName } from './custom-schemas.ts';
import { structNameOf } from './kind-schemas.ts';
import { capitalized, groupNames, operationId } from './operation-names.ts';
import {
  ANY,
  type ApiOperation,
  connecting,
  ENCODINGS,
  LOG,
  PROTOBUF_ENCODING,
  reading,
  type Shape,
  type Shapes,
  STRATEGIC_MERGE_PATCH,
  shapesOf,
  TEXT_ENCODINGS,
  type TypeName,
} from './operation-shapes.ts';
import { NAME, NAMESPACE, ON_CONNECT, type Parameter, PRETTY, PROXIED_PATH } from './parameters.ts';
import { publishedName, WATCH_EVENT } from './schema-names.ts';
import type { PublishedKind } from './schemas.ts';

/** One path with its operations, independent of the OpenAPI version. */
export interface ApiPath {
  readonly path: string;
  /** Parameters of all its operations. */
  readonly parameters: readonly Parameter[];
  readonly operations: readonly ApiOperation[];
}

interface Place {
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** `NamespacedPodLog` */
  readonly subject: string;
  readonly shapes: readonly Shape[];
  /** The kind of the operations when it is not that of the resource. */
  readonly body?: PublishedKind;
}

/** Every path of one kind: collections, objects, subresources, and the older paths of watches. */
export function pathsOf(served: ServedKind): readonly ApiPath[] {
  const { group, version, kind } = served;
  const names = groupNames(group, version);
  return placesOf(served).flatMap(({ path, parameters, subject, shapes, body }) => {
    const operations = shapes.map(({ action, ...shape }) => ({
      consumes: ANY,
      produces: ENCODINGS,
      ...shape,
      ...(served.custom === undefined ? {} : customTypes(shape)),
      id: operationId({ action, method: shape.method, group: names.part, subject }),
      tag: names.tag,
      of: { action, kind: body ?? { group, version, kind } },
    }));
    const own = operations.some(({ of }) => of.action === 'connect') ? parameters : [...parameters, PRETTY];
    return operations.length === 0 ? [] : [withCommon(path, own, operations)];
  });
}

/** What custom kinds take and answer. `kubectl apply` sends a strategic merge patch to whatever lists it here. */
function customTypes({ consumes, produces = ENCODINGS }: Omit<Shape, 'action'>): Pick<Shape, 'consumes' | 'produces'> {
  return {
    consumes: consumes?.filter((type) => type !== STRATEGIC_MERGE_PATCH) ?? TEXT_ENCODINGS,
    produces: produces.filter((type) => !type.startsWith(PROTOBUF_ENCODING)),
  };
}

function withCommon(path: string, own: readonly Parameter[], operations: readonly ApiOperation[]): ApiPath {
  const [first, ...others] = operations;
  const common = (first?.parameters ?? []).filter((each) =>
    others.every(({ parameters }) => parameters.includes(each)),
  );
  const rest = (parameters: readonly Parameter[]): readonly Parameter[] =>
    parameters.filter((each) => !common.includes(each)).toSorted(byName);
  return {
    path,
    parameters: [...own, ...common].toSorted(byName),
    operations: operations.map((each) => ({ ...each, parameters: rest(each.parameters) })),
  };
}

const byName = (a: Parameter, b: Parameter): number => (a.name === b.name ? 0 : a.name < b.name ? -1 : 1);

function placesOf(served: ServedKind): readonly Place[] {
  const { plural, namespaced, verbs, kind } = served;
  const root = `/${served.group === '' ? 'api' : 'apis'}/${groupVersion(served)}`;
  const path = `${root}/${namespaced ? `namespaces/{namespace}/${plural}` : plural}`;
  const parameters = namespaced ? [NAMESPACE] : [];
  const subject = `${namespaced ? 'Namespaced' : ''}${kind}`;
  const shapes = shapesOfKind(served);
  const offered = (...names: readonly string[]): readonly Shape[] =>
    names.flatMap((verb) => (verbs.includes(verb) ? (shapes[verb] ?? []) : []));
  const item = { path: `${path}/{name}`, parameters: [NAME, ...parameters], subject };
  return [
    { path, parameters, subject, shapes: offered('create', 'list', 'deletecollection') },
    { ...item, shapes: offered('get', 'update', 'patch', 'delete') },
    ...served.subresources.flatMap((sub) => subresourcePlaces(served, sub, item)),
    ...(namespaced
      ? [{ path: `${root}/${plural}`, parameters: [], subject: `${kind}ForAllNamespaces`, shapes: offered('list') }]
      : []),
    ...(verbs.includes('watch') ? watchPlaces(served, root) : []),
  ];
}

function shapesOfKind(served: ServedKind): Shapes {
  const { group, version, answersDeleted } = served;
  const own = typeOf(served);
  const shapes = answersDeleted === true ? shapesOf(own, own) : shapesOf(own);
  return { ...shapes, list: reading('list', typeOf({ group, version, kind: listKindName(served) })) };
}

/** Legacy watch paths, which older clients look up in the document. */
function watchPlaces({ plural, namespaced, kind }: ServedKind, root: string): readonly Place[] {
  const scope = namespaced ? [NAMESPACE] : [];
  const base = `${root}/watch/${namespaced ? `namespaces/{namespace}/${plural}` : plural}`;
  const subject = `${namespaced ? 'Namespaced' : ''}${kind}`;
  const list = [reading('watchlist', WATCH_EVENT)];
  return [
    { path: base, parameters: scope, subject: `${subject}List`, shapes: list },
    { path: `${base}/{name}`, parameters: [NAME, ...scope], subject, shapes: [reading('watch', WATCH_EVENT)] },
    ...(namespaced
      ? [{ path: `${root}/watch/${plural}`, parameters: [], subject: `${kind}ListForAllNamespaces`, shapes: list }]
      : []),
  ];
}

function subresourcePlaces(
  served: ServedKind,
  { name, verbs, body }: ServedKind['subresources'][number],
  parent: Omit<Place, 'shapes'>,
): readonly Place[] {
  const shapes = shapesOf(typeOf(body ?? served));
  const options = ON_CONNECT[name];
  const whole: Place = {
    path: `${parent.path}/${name}`,
    parameters: parent.parameters,
    subject: `${parent.subject}${capitalized(name)}`,
    shapes:
      options === undefined
        ? verbs.flatMap((verb) => (name === 'log' ? LOG : (shapes[verb] ?? [])))
        : connecting(options, verbs),
    ...(body === undefined ? {} : { body }),
  };
  if (name !== 'proxy') return [whole];
  const below = { path: `${whole.path}/{path}`, subject: `${whole.subject}WithPath` };
  return [whole, { ...whole, ...below, parameters: [...whole.parameters, PROXIED_PATH] }];
}

function typeOf(kind: PublishedKind): TypeName {
  const struct = structNameOf(kind);
  if (struct !== undefined) return publishedName(struct);
  return isBuiltInGroup(kind.group) ? 'object' : customSchemaName(kind);
}
