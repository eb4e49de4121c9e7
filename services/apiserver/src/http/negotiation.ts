import { StatusError } from '@holdfast/machinery';
import { RecentMap } from '@holdfast/platform';
import { ACCEPT_CLAUSES_MAX, ACCEPT_PARAMETERS_MAX } from '../limits.ts';

export type Encoding = 'json' | 'yaml' | 'protobuf';

/** The requested representation of an object or a list. */
export interface Representation {
  readonly shape: 'object' | 'table' | 'partial' | 'partial list';
  /** The version of `meta.k8s.io` for tables and partial objects. */
  readonly shapeVersion: 'v1' | 'v1beta1';
  readonly encoding: Encoding;
  /** The media type to answer with. */
  readonly contentType: string;
}

const PLAIN: Representation = {
  shape: 'object',
  shapeVersion: 'v1',
  encoding: 'json',
  contentType: 'application/json',
};

const YAML = 'application/yaml';
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const SERVED = ['application/json', YAML, PROTOBUF];
const STREAMS = ['application/json;stream=watch', `${PROTOBUF};stream=watch`];

/** Returns the client's most preferred supported representation; throws 406 when there is none. */
export const negotiate = (accept: string | undefined): Representation => negotiateAmong(accept, SERVED, isWritable);

/** For lists, which can also be watched: the error mentions that. */
export const negotiateList = (accept: string | undefined): Representation =>
  negotiateAmong(accept, [...SERVED, ...STREAMS], isWritable);

/** Tables have no protobuf encoding. */
const isWritable = ({ shape, encoding }: Representation): boolean => shape !== 'table' || encoding !== 'protobuf';

/** For watches: YAML cannot be streamed. */
export function negotiateWatch(accept: string | undefined): Representation {
  const wanted = negotiateList(accept);
  if (wanted.encoding === 'json') return wanted;
  if (wanted.encoding === 'protobuf') return { ...wanted, contentType: `${PROTOBUF};stream=watch` };
  const [other] = encodingsOf(accept ?? '').filter((encoding) => encoding === 'json');
  if (other === undefined) throw onlyAccepted(STREAMS);
  return { ...wanted, encoding: other, contentType: 'application/json' };
}

/** For responses without columns: a client that accepts only tables gets 406. */
export const negotiateWithoutTable = (accept: string | undefined): Representation =>
  negotiateAmong(accept, SERVED, ({ shape }) => shape !== 'table');

function negotiateAmong(
  accept: string | undefined,
  available: readonly string[],
  isServed: (wanted: Representation) => boolean,
): Representation {
  if (accept === undefined || accept === '' || accept === 'application/json') return PLAIN;
  const clauses = clausesOf(accept);
  if (!leadsToAny(clauses, SERVED)) throw notAcceptable(available);
  for (const clause of clauses) {
    const representation = readClause(clause);
    if (representation !== undefined && isServed(representation)) return representation;
  }
  throw encodingsOf(accept).length > 0 ? onlyAccepted() : notAcceptable(available);
}

/** True for a media type by name, or a wildcard. */
export const takesAny = (accept: string, types: readonly string[]): boolean => leadsToAny(clausesOf(accept), types);

/** For documents in several types: returns the client's most preferred one; '' when it accepts none. */
export function likedBest(accept: string, types: readonly string[]): string {
  const [first = ''] = types;
  if (accept === '') return first;
  for (const { type } of clausesOf(accept)) {
    if (type === '*/*' || type === 'application/*') return first;
    if (types.includes(type)) return type;
  }
  return '';
}

const leadsToAny = (clauses: readonly Clause[], types: readonly string[]): boolean =>
  clauses.some(({ type }) => type === '*/*' || types.includes(type));

/** The encoding of a document that has no other shapes; entries of `Accept` that ask for another shape do not count. */
export const encodingFor = (accept: string): Encoding => plainEncoding(accept) ?? 'json';

/** Refuses a client that accepts a document only in a shape that it does not have. */
export function refuseOtherTypes(accept: string): void {
  if (accept !== '' && plainEncoding(accept) === undefined) throw onlyAccepted();
}

function plainEncoding(accept: string): Encoding | undefined {
  const plain = clausesOf(accept).find(
    ({ type, parameters }) => encodingOf(type) !== undefined && !parameters.has('as'),
  );
  return plain === undefined ? undefined : encodingOf(plain.type);
}

/** A kind that something is wanted as, and how it is written. */
export interface AcceptedType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly encoding: Encoding;
}

/** The type of a document that the client prefers among those that are served. */
export function acceptedTypeLikedBest(
  accept: string,
  isServed: (type: AcceptedType) => boolean,
): AcceptedType | undefined {
  return clausesOf(accept)
    .flatMap(({ type, parameters }): readonly AcceptedType[] => {
      const [group = '', version = '', kind = ''] = ['g', 'v', 'as'].map((name) => parameters.get(name));
      const encoding = encodingOf(type);
      return encoding === undefined ? [] : [{ group, version, kind, encoding }];
    })
    .find(isServed);
}

const encodingsOf = (accept: string): readonly Encoding[] =>
  clausesOf(accept).flatMap(({ type }) => encodingOf(type) ?? []);

interface Clause {
  readonly type: string;
  readonly quality: number;
  readonly wildcards: number;
  readonly parameters: ReadonlyMap<string, string>;
}

/** Clients say the same with every request. */
const remembered = new RecentMap<string, readonly Clause[]>(100);
const REMEMBERED_CHARS_MAX = 300;

function clausesOf(accept: string): readonly Clause[] {
  const known = remembered.get(accept);
  if (known !== undefined) return known;
  const clauses = readClauses(accept);
  if (accept.length <= REMEMBERED_CHARS_MAX) remembered.set(accept, clauses);
  return clauses;
}

/** Best first; of equal ones the more specific. Clients without a credential are read as well, so not everything is. */
function readClauses(accept: string): readonly Clause[] {
  const clauses = accept.split(',', ACCEPT_CLAUSES_MAX).map((text): Clause => {
    const [type = '', ...rest] = text.split(';', 1 + ACCEPT_PARAMETERS_MAX).map((part) => part.trim());
    const parameters = rest.length === 0 ? NO_PARAMETERS : new Map(rest.map(splitOnce));
    const quality = parameters.get('q');
    return {
      type,
      parameters,
      quality: quality === undefined ? 1 : Number.parseFloat(quality) || 0,
      wildcards: type.split('*').length,
    };
  });
  return clauses.toSorted((a, b) => b.quality - a.quality || a.wildcards - b.wildcards);
}

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map();

const onlyAccepted = (types: readonly string[] = SERVED): StatusError =>
  new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `only the following media types are accepted: ${types.join(', ')}`,
  });

const SHAPES: ReadonlyMap<string, Representation['shape']> = new Map([
  ['Table', 'table'],
  ['PartialObjectMetadata', 'partial'],
  ['PartialObjectMetadataList', 'partial list'],
]);

export const CONTENT_TYPES: Readonly<Record<Encoding, string>> = {
  json: 'application/json',
  yaml: YAML,
  protobuf: PROTOBUF,
};

function readClause({ type, parameters }: Clause): Representation | undefined {
  const encoding = encodingOf(type);
  if (encoding === undefined) return undefined;
  const base: Representation = { ...PLAIN, encoding, contentType: CONTENT_TYPES[encoding] };
  const as = parameters.get('as');
  if (as === undefined) return base;
  const shapeVersion = parameters.get('v');
  if (parameters.get('g') !== 'meta.k8s.io' || (shapeVersion !== 'v1' && shapeVersion !== 'v1beta1')) return undefined;
  const shape = SHAPES.get(as);
  return shape === undefined ? undefined : { ...base, shape, shapeVersion };
}

const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*']);

function encodingOf(type: string): Encoding | undefined {
  if (JSON_TYPES.has(type)) return 'json';
  if (type === PROTOBUF) return 'protobuf';
  return type === YAML ? 'yaml' : undefined;
}

function splitOnce(part: string): [string, string] {
  const at = part.indexOf('=');
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
}

export function notAcceptable(available: readonly string[] = SERVED): StatusError {
  return new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`,
    details: {},
  });
}

/** A list is no object, nor an object a list; the type is named as in Go. */
export function otherShape(wanted: 'PartialObjectMetadata' | 'PartialObjectMetadataList', of: GoKind): StatusError {
  const internal = of.group === '' ? 'core' : (of.group.split('.')[0] ?? '');
  const isList = wanted === 'PartialObjectMetadata';
  const type = `*${internal}.${of.kind}${isList ? 'List' : ''}`;
  return new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `you requested ${wanted}, but the requested object is ${isList ? 'a list' : 'not a list'} (${type})`,
  });
}

export interface GoKind {
  readonly group: string;
  readonly kind: string;
}
