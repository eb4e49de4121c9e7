import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import {
  badRequest,
  type FieldError,
  type FieldSelectorMatcher,
  forbidden,
  invalidObject,
  type LabelSelectorMatcher,
  notSupported,
  parseFieldSelector,
  SelectorError,
  unclassifiedError,
} from '@holdfast/machinery';
import type { CachedObject } from '../cache/cached-object.ts';
import type { Selection } from '../cache/selection.ts';
import type { Core } from '../core.ts';
import { isIndexed } from '../objects/field-readers.ts';
import { asServed, shownObject } from '../objects/stored-object.ts';
import { readInt64, revisionProblem } from './query-values.ts';
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
  { selectors }: Pick<Core, 'selectors'>,
  query: URLSearchParams,
  info: ResourceRequest,
  definition: ResourceDefinition,
): ListOptions {
  const timeoutSeconds = readInteger(query, 'timeoutSeconds');
  const limit = readInteger(query, 'limit');
  const labels = parsed(() => selectors.parse(query.get('labelSelector') ?? ''));
  const fields = parsed(() => parseFieldSelector(query.get('fieldSelector') ?? ''));
  const match = readMatch(query);
  const options: ListOptions = {
    selection: readSelection({ labels, fields }, info, definition),
    // "Any state will do" is answered whole, as it is at hand.
    limit: limit === undefined || limit <= 0 || query.get('resourceVersion') === '0' ? undefined : limit,
    continueToken: query.get('continue') || undefined,
    resourceVersion: readResourceVersion(query.get('resourceVersion')),
    match,
    timeoutSeconds,
    bookmarks: isTrue(query.get('allowWatchBookmarks')),
    sendInitialEvents: query.has('sendInitialEvents') ? isTrue(query.get('sendInitialEvents')) : undefined,
  };
  return options;
}

interface Selectors {
  readonly labels: LabelSelectorMatcher;
  readonly fields: FieldSelectorMatcher;
}

function readSelection(
  { labels, fields }: Selectors,
  info: ResourceRequest,
  definition: ResourceDefinition,
): Selection {
  checkFields(fields, definition);
  checkName(fields, info);
  const pinnedNamespace = fields.requiredValue('metadata.namespace');
  const exact = {
    namespace: definition.namespaced ? info.namespace || pinnedNamespace : undefined,
    exactName: info.name || fields.requiredValue('metadata.name'),
  };
  // Names are the same in every version: nothing has to be converted for them.
  const isOfMetadata = fields.requirements.every(({ field }) => field.startsWith('metadata.'));
  if (isIndexed(definition) || isOfMetadata) {
    const matches = combined({ labels, fields, isOfMetadata }, definition);
    return { ...exact, exactField: isIndexed(definition) ? exactField(fields, definition) : undefined, matches };
  }
  const selection = {
    ...exact,
    exactField: undefined,
    matches: combined({ labels, fields, isOfMetadata }, definition),
  };
  if (definition.custom?.conversion !== 'Webhook') return selection;
  return { ...selection, beforeConversion: { ...exact, exactField: undefined, matches: ofLabels(labels) } };
}

function exactField(fields: FieldSelectorMatcher, definition: ResourceDefinition): Selection['exactField'] {
  for (const field of Object.keys(definition.selectableFields)) {
    const value = fields.requiredValue(field);
    if (value !== undefined) return { field, value };
  }
  return undefined;
}

function combined(
  { labels, fields, isOfMetadata }: Selectors & { readonly isOfMetadata: boolean },
  definition: ResourceDefinition,
): Selection['matches'] {
  if (fields.empty) return ofLabels(labels);
  return (object, state) => {
    if (!labels.matches(object.metadata.labels ?? {})) return false;
    const shown = isOfMetadata ? object : shownOf(definition, object, state);
    return fields.matches((field) => readField(shown, field, definition));
  };
}

const ofLabels = (labels: LabelSelectorMatcher): Selection['matches'] =>
  labels.empty ? undefined : (object) => labels.matches(object.metadata.labels ?? {});

/** A webhook's conversion is cached by state. */
const shownOf = (definition: ResourceDefinition, object: KubeObject, state: CachedObject): KubeObject =>
  definition.custom?.conversion === 'Webhook' ? asServed(definition, state).object : shownObject(definition, object);

function readField(object: KubeObject, field: string, definition: ResourceDefinition): string {
  if (field === 'metadata.name') return object.metadata.name ?? '';
  if (field === 'metadata.namespace') return object.metadata.namespace ?? '';
  return definition.selectableFields[field]?.(object) ?? '';
}

function checkFields(fields: FieldSelectorMatcher, definition: ResourceDefinition): void {
  const own = Object.keys(definition.selectableFields);
  for (const { field } of fields.requirements) {
    const isCustom = definition.custom !== undefined;
    // A kind without namespaces that lists its fields does not list this one.
    if (field === 'metadata.namespace' && (definition.namespaced || (own.length === 0 && !isCustom))) continue;
    if (field === 'metadata.name' || own.includes(field)) continue;
    if (definition.group === 'batch' && definition.kind === 'Job') {
      throw badRequest(`field label ${JSON.stringify(field)} not supported for batchv1.Job`);
    }
    throw badRequest(
      own.length === 0 && !isCustom
        ? `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`
        : `field label not supported: ${field}`,
    );
  }
}

/** For client input: a parse error is the client's mistake. */
export function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message, error);
    throw error;
  }
}

/** A watch of one object may not select another. */
function checkName({ empty, requiredValue }: FieldSelectorMatcher, { name }: ResourceRequest): void {
  if (name === '' || empty || requiredValue('metadata.name') === name) return;
  throw badRequest("fieldSelector metadata.name doesn't match requested name");
}

function readInteger(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null ? undefined : readInt64(text);
}

/** `undefined` for absent and ''. */
export function readResourceVersion(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  const problem = revisionProblem(text);
  if (problem === undefined) return Number(text);
  throw unclassifiedError(`resourceVersion: Invalid value: ${JSON.stringify(text)}: ${problem}`);
}

/** Reports all errors of the revision parameters together. */
function readMatch(query: URLSearchParams): ListOptions['match'] {
  const text = query.get('resourceVersionMatch') ?? '';
  const errors = isTrue(query.get('watch')) ? watchErrors(query, text) : listErrors(query, text);
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind: 'ListOptions', name: '' }, errors);
  return text === 'Exact' || text === 'NotOlderThan' ? text : undefined;
}

const MATCH = 'resourceVersionMatch';

function listErrors(query: URLSearchParams, match: string): readonly FieldError[] {
  const initial = query.has('sendInitialEvents')
    ? [forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list')]
    : [];
  if (match === '') return initial;
  const version = query.get('resourceVersion') ?? '';
  const isExact = match === 'Exact';
  return [
    ...(version === '' ? [forbidden(MATCH, `${MATCH} is forbidden unless resourceVersion is provided`)] : []),
    ...(query.get('continue') ? [forbidden(MATCH, `${MATCH} is forbidden when continue is provided`)] : []),
    ...(isExact || match === 'NotOlderThan' ? [] : [notSupported(MATCH, match, ['Exact', 'NotOlderThan', ''])]),
    ...(isExact && version === '0' ? [forbidden(MATCH, `${MATCH} "exact" is forbidden for resourceVersion "0"`)] : []),
    ...initial,
  ];
}

function watchErrors(query: URLSearchParams, match: string): readonly FieldError[] {
  const initial = query.has('sendInitialEvents');
  const isRight = match === 'NotOlderThan';
  const missing =
    initial && !isRight ? [forbidden(MATCH, `sendInitialEvents requires setting ${MATCH} to NotOlderThan`)] : [];
  if (match === '') return missing;
  return [
    ...missing,
    ...(initial ? [] : [forbidden(MATCH, `${MATCH} is forbidden for watch unless sendInitialEvents is provided`)]),
    ...(isRight ? [] : [notSupported(MATCH, match, ['NotOlderThan'])]),
    ...(query.get('continue') ? [forbidden(MATCH, `${MATCH} is forbidden when continue is provided`)] : []),
  ];
}
