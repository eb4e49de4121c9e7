import { StatusError } from '@holdfast/machinery';

/** How the client wants an object or a list. */
export interface Representation {
  readonly form: 'object' | 'table' | 'partial' | 'partial list';
  readonly encoding: 'json' | 'yaml';
  /** The media type to answer with. */
  readonly contentType: string;
  readonly pretty: boolean;
}

const PLAIN: Representation = {
  form: 'object',
  encoding: 'json',
  contentType: 'application/json',
  pretty: false,
};

const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*']);

/** Takes the first media type of `Accept` that we can answer; 406 when there is none. */
export function negotiate(accept: string | undefined): Representation {
  return negotiateAmong(accept, () => true);
}

/** For answers that have no columns: a client that takes nothing but a table gets 406. */
export function negotiateWithoutTable(accept: string | undefined): Representation {
  return negotiateAmong(accept, ({ form }) => form !== 'table');
}

function negotiateAmong(accept: string | undefined, isServed: (wanted: Representation) => boolean): Representation {
  if (accept === undefined || accept === '' || accept === 'application/json') return PLAIN;
  for (const clause of accept.split(',')) {
    const representation = readClause(clause.trim());
    if (representation !== undefined && isServed(representation)) return representation;
  }
  throw accept.split(',').some((clause) => isServedType(clause)) ? onlyAccepted() : notAcceptable();
}

/** A type that is served, asked for in a form that is not. */
function isServedType(clause: string): boolean {
  const type = clause.split(';')[0]?.trim() ?? '';
  return encodingOf(type) !== undefined;
}

const onlyAccepted = (): StatusError =>
  new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `only the following media types are accepted: ${SERVED.join(', ')}`,
  });

function readClause(clause: string): Representation | undefined {
  const [type = '', ...rest] = clause.split(';').map((part) => part.trim());
  const parameters = new Map(rest.map((part) => splitOnce(part)));
  const encoding = encodingOf(type);
  if (encoding === undefined) return undefined;
  const contentType = encoding === 'yaml' ? 'application/yaml' : 'application/json';
  const base: Representation = { ...PLAIN, encoding, contentType, pretty: parameters.get('pretty') === '1' };
  const as = parameters.get('as');
  if (as === undefined) return base;
  if (parameters.get('g') !== 'meta.k8s.io' || parameters.get('v') !== 'v1') return undefined;
  if (as === 'Table') return { ...base, form: 'table' };
  if (as === 'PartialObjectMetadata') return { ...base, form: 'partial' };
  return as === 'PartialObjectMetadataList' ? { ...base, form: 'partial list' } : undefined;
}

function encodingOf(type: string): 'json' | 'yaml' | undefined {
  if (JSON_TYPES.has(type)) return 'json';
  return type === 'application/yaml' ? 'yaml' : undefined;
}

function splitOnce(part: string): [string, string] {
  const at = part.indexOf('=');
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
}

/** What Kubernetes names; clients that ask for protobuf also say that they take JSON, and get that. */
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const SERVED = ['application/json', 'application/yaml', PROTOBUF];
const AVAILABLE = [...SERVED, 'application/json;stream=watch', `${PROTOBUF};stream=watch`];

export function notAcceptable(): StatusError {
  return new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `406: Not Acceptable\n\nAvailable representations: ${AVAILABLE.join(', ')}`,
    details: {},
  });
}

/** A list is no object, nor an object a list; the type is named as in Go. */
export function otherForm(wanted: 'PartialObjectMetadata' | 'PartialObjectMetadataList', of: GoKind): StatusError {
  const internal = of.group === '' ? 'core' : (of.group.split('.')[0] ?? '');
  const isList = wanted === 'PartialObjectMetadata';
  const type = `*${internal}.${of.kind}${isList ? 'List' : ''}`;
  return new StatusError({
    code: 406,
    reason: 'NotAcceptable',
    message: `you requested ${wanted}, but the requested object is ${isList ? 'a list' : 'not a list'} (${type})`,
  });
}

interface GoKind {
  readonly group: string;
  readonly kind: string;
}
