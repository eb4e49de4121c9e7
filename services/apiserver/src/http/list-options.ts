import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import {
  badRequest,
  type FieldSelectorMatcher,
  type LabelSelectorMatcher,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
  type StatusError,
  unclassifiedError,
} from '@holdfast/machinery';
import type { Selection } from '../cache/selection.ts';
import { invalidOptions } from './options-error.ts';
import { isTrue, type ResourceRequest } from './request-info.ts';

export interface ListOptions {
  readonly selection: Selection;
  readonly limit: number | undefined;
  readonly continueToken: string | undefined;
  /** `undefined` = the newest, consistently. */
  readonly resourceVersion: number | undefined;
  readonly match: 'Exact' | 'NotOlderThan' | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
}

export function readListOptions(
  query: URLSearchParams,
  info: ResourceRequest,
  definition: ResourceDefinition,
): ListOptions {
  const limit = readInteger(query, 'limit');
  const options: ListOptions = {
    selection: readSelection(query, info, definition),
    limit: limit === undefined || limit <= 0 ? undefined : limit,
    continueToken: query.get('continue') || undefined,
    resourceVersion: readResourceVersion(query.get('resourceVersion')),
    match: readMatch(query),
    timeoutSeconds: readInteger(query, 'timeoutSeconds'),
    bookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: query.has('sendInitialEvents') ? isTrue(query.get('sendInitialEvents')) : undefined,
  };
  return options;
}

function readSelection(query: URLSearchParams, info: ResourceRequest, definition: ResourceDefinition): Selection {
  const labels = parsed(() => parseLabelSelector(query.get('labelSelector') ?? ''));
  const fields = parsed(() => parseFieldSelector(query.get('fieldSelector') ?? ''));
  checkFields(fields, definition);
  const pinnedNamespace = fields.requiredValue('metadata.namespace');
  return {
    namespace: definition.namespaced ? info.namespace || pinnedNamespace : undefined,
    exactName: info.name || fields.requiredValue('metadata.name'),
    exactField: definition.storedAs === undefined ? exactField(fields, definition) : undefined,
    matches: combined(labels, fields, definition),
  };
}

function exactField(fields: FieldSelectorMatcher, definition: ResourceDefinition): Selection['exactField'] {
  for (const field of Object.keys(definition.selectableFields)) {
    const value = fields.requiredValue(field);
    if (value !== undefined) return { field, value };
  }
  return undefined;
}

function combined(
  labels: LabelSelectorMatcher,
  fields: FieldSelectorMatcher,
  definition: ResourceDefinition,
): Selection['matches'] {
  if (labels.empty && fields.empty) return undefined;
  if (fields.empty) return (object) => labels.matches(object.metadata.labels ?? {});
  const { storedAs } = definition;
  const served = (stored: KubeObject): KubeObject => (storedAs === undefined ? stored : storedAs.fromStored(stored));
  return (object) =>
    labels.matches(object.metadata.labels ?? {}) &&
    fields.matches((field) => readField(served(object), field, definition));
}

function readField(object: KubeObject, field: string, definition: ResourceDefinition): string {
  if (field === 'metadata.name') return object.metadata.name ?? '';
  if (field === 'metadata.namespace') return object.metadata.namespace ?? '';
  return definition.selectableFields[field]?.(object) ?? '';
}

function checkFields(fields: FieldSelectorMatcher, definition: ResourceDefinition): void {
  const own = Object.keys(definition.selectableFields);
  for (const { field } of fields.requirements) {
    if (field === 'metadata.name' || field === 'metadata.namespace' || own.includes(field)) continue;
    throw badRequest(
      own.length === 0
        ? `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`
        : `field label not supported: ${field}`,
    );
  }
}

/** Of a client: what cannot be read is its mistake. */
export function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message, error);
    throw error;
  }
}

function readInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^-?\d{1,15}$/.test(text)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return Number(text);
}

/** `undefined` for absent and ''. */
export function readResourceVersion(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const shown = JSON.stringify(text);
  throw unclassifiedError(
    `resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: invalid syntax`,
  );
}

function readMatch(query: URLSearchParams): ListOptions['match'] {
  const text = query.get('resourceVersionMatch') ?? '';
  const watching = isTrue(query.get('watch'));
  const initial = query.has('sendInitialEvents');
  if (watching) return readWatchMatch(text, initial);
  if (initial)
    throw invalidOptions('ListOptions', 'sendInitialEvents', 'Forbidden', 'sendInitialEvents is forbidden for list');
  if (text === '') return undefined;
  const forbid = (why: string): never => {
    throw invalidOptions(
      'ListOptions',
      'resourceVersionMatch',
      'Forbidden',
      `resourceVersionMatch is forbidden ${why}`,
    );
  };
  if (!query.get('resourceVersion')) forbid('unless resourceVersion is provided');
  if (query.get('continue')) forbid('when continue is provided');
  if (text !== 'Exact' && text !== 'NotOlderThan') throw unsupportedMatch(text);
  if (text === 'Exact' && query.get('resourceVersion') === '0') {
    forbid('"Exact" for resourceVersion "0"');
  }
  return text;
}

function readWatchMatch(text: string, initial: boolean): ListOptions['match'] {
  const refuse = (why: string): never => {
    throw invalidOptions('ListOptions', 'resourceVersionMatch', 'Forbidden', why);
  };
  if (initial) {
    if (text === '') refuse('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
    if (text !== 'NotOlderThan') throw unsupportedMatch(text, ['NotOlderThan']);
    return text;
  }
  if (text !== '') refuse('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  return undefined;
}

const unsupportedMatch = (text: string, supported = ['Exact', 'NotOlderThan']): StatusError =>
  invalidOptions(
    'ListOptions',
    'resourceVersionMatch',
    'Unsupported value',
    `${JSON.stringify(text)}: supported values: ${supported.map((each) => JSON.stringify(each)).join(', ')}`,
  );
