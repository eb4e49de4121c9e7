/**
 * A request parameter. Equal parameters are the same object: parameters of all operations of a path are listed once
 * there.
 */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'string' | 'integer' | 'boolean';
}

const text = (name: string): Parameter => ({ name, in: 'query', type: 'string' });
const integer = (name: string): Parameter => ({ name, in: 'query', type: 'integer' });
const flag = (name: string): Parameter => ({ name, in: 'query', type: 'boolean' });
const inPath = (name: string): Parameter => ({ name, in: 'path', type: 'string' });

export const NAME = inPath('name');
export const NAMESPACE = inPath('namespace');
export const PROXIED_PATH = inPath('path');
/** Every operation takes it that answers with an object. */
export const PRETTY = text('pretty');

const DRY_RUN = text('dryRun');
const CONTINUE = text('continue');
const FIELD_SELECTOR = text('fieldSelector');
const LABEL_SELECTOR = text('labelSelector');
const LIMIT = integer('limit');
const RESOURCE_VERSION = text('resourceVersion');
const RESOURCE_VERSION_MATCH = text('resourceVersionMatch');
const SEND_INITIAL_EVENTS = flag('sendInitialEvents');
const TIMEOUT_SECONDS = integer('timeoutSeconds');

const SELECTION = [
  CONTINUE,
  FIELD_SELECTOR,
  LABEL_SELECTOR,
  LIMIT,
  RESOURCE_VERSION,
  RESOURCE_VERSION_MATCH,
  SEND_INITIAL_EVENTS,
  TIMEOUT_SECONDS,
];

export const ON_WRITE: readonly Parameter[] = [DRY_RUN, text('fieldManager'), text('fieldValidation')];
export const ON_PATCH: readonly Parameter[] = [...ON_WRITE, flag('force')];
export const ON_DELETE: readonly Parameter[] = [
  DRY_RUN,
  integer('gracePeriodSeconds'),
  flag('ignoreStoreReadErrorWithClusterBreakingPotential'),
  flag('orphanDependents'),
  text('propagationPolicy'),
];
export const ON_DELETE_COLLECTION: readonly Parameter[] = [...ON_DELETE, ...SELECTION];
export const ON_LIST: readonly Parameter[] = [flag('allowWatchBookmarks'), ...SELECTION, flag('watch')];

const CONTAINER = text('container');
const STREAMS = [CONTAINER, flag('stderr'), flag('stdin'), flag('stdout'), flag('tty')];

/** Parameters of connect subresources, by name. */
export const ON_CONNECT: Readonly<Record<string, readonly Parameter[]>> = {
  attach: STREAMS,
  exec: [text('command'), ...STREAMS],
  portforward: [integer('ports')],
  proxy: [text('path')],
};

export const ON_LOG: readonly Parameter[] = [
  CONTAINER,
  flag('follow'),
  flag('insecureSkipTLSVerifyBackend'),
  integer('limitBytes'),
  flag('previous'),
  integer('sinceSeconds'),
  text('stream'),
  integer('tailLines'),
  flag('timestamps'),
];
