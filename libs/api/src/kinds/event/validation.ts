import { type FieldError, invalid, required, semanticEqual } from '@holdfast/machinery';
import type { Event } from '../../generated/types.ts';
import { validateAnyMetadata } from '../../validation/common-metadata.ts';
import { byteLength, dnsSubdomainErrors, qualifiedNameErrors } from '../../validation/formats.ts';
import { goValue } from '../../validation/go/print.ts';
import { goInstant } from '../../validation/go-text.ts';
import { EVENT_NOTE_BYTES_MAX, EVENT_TEXT_BYTES_MAX } from '../../validation/limits.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';

const EVENTS_META = { namespaced: true, name: dnsSubdomainErrors } as const;
const SERIES_MIN = 2;
const UNSET_TEXT = 'needs to be unset';

/**
 * Core events were never validated strictly, and old clients rely on that: an update does not compare with the old
 * event.
 */
export const validateEventUpdate = (event: Readonly<Event>): readonly FieldError[] =>
  commonErrors(event, 'reportingComponent');

/** The metadata is checked only when the event itself is valid. */
export function validateEventCreate(event: Readonly<Event>): readonly FieldError[] {
  const out = commonErrors(event, 'reportingComponent');
  if (out.length === 0) validateAnyMetadata(out, event, true);
  return out;
}

/** Validates events of the group events.k8s.io in their stored form. */
export function validateEventsCreate(event: Readonly<Event>): readonly FieldError[] {
  const out = commonErrors(event, 'reportingController');
  validateObjectMeta(out, event.metadata, EVENTS_META);
  validateSeries(out, event);
  if (event.eventTime === null) out.push(required('eventTime'));
  if (event.type !== 'Normal' && event.type !== 'Warning') {
    out.push(invalid('type', '', `has invalid value: ${event.type ?? ''}`));
  }
  if (event.firstTimestamp !== null) out.push(invalid('firstTimestamp', '', UNSET_TEXT));
  if (event.lastTimestamp !== null) out.push(invalid('lastTimestamp', '', UNSET_TEXT));
  if ((event.count ?? 0) !== 0) out.push(invalid('count', '', UNSET_TEXT));
  const { component = '', host = '' } = event.source;
  if (component !== '' || host !== '') out.push(invalid('source', '', UNSET_TEXT));
  return out;
}

export function validateEventsUpdate(event: Readonly<Event>, old: Readonly<Event>): readonly FieldError[] {
  const out = commonErrors(event, 'reportingController');
  validateObjectMetaUpdate(out, event.metadata, old.metadata);
  if (!semanticEqual(event.series, old.series)) validateSeries(out, event);
  for (const key of IMMUTABLE_FIELDS) {
    if (semanticEqual(event[key], old[key])) continue;
    const path = key === 'reportingComponent' ? 'reportingController' : key;
    out.push(invalid(path, shownField(event, key), IMMUTABLE_TEXT));
  }
  return out;
}

const IMMUTABLE_FIELDS = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  // Twice, as in Kubernetes.
  'reason',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
] as const;

function commonErrors(event: Readonly<Event>, controllerPath: string): FieldError[] {
  const out: FieldError[] = [];
  validateInvolvedNamespace(out, event);
  if (event.eventTime !== null) validateNewForm(out, event, controllerPath);
  return out;
}

/** Events about cluster-scoped objects belong to `default`; those of the new API also to `kube-system`. */
function validateInvolvedNamespace(out: FieldError[], event: Readonly<Event>): void {
  const involved = event.involvedObject.namespace ?? '';
  const own = event.metadata.namespace ?? '';
  const newForm = event.eventTime !== null;
  const agrees =
    involved === '' ? own === 'default' || (newForm ? own === 'kube-system' : own === '') : newForm || involved === own;
  if (!agrees) out.push(invalid('involvedObject.namespace', involved, 'does not match event.namespace'));
}

function validateNewForm(out: FieldError[], event: Readonly<Event>, controllerPath: string): void {
  const { reportingComponent, reportingInstance, action = '', reason = '', message = '' } = event;
  if (reportingComponent === '') out.push(required(controllerPath));
  for (const text of qualifiedNameErrors(reportingComponent)) {
    out.push(invalid(controllerPath, reportingComponent, text));
  }
  validateText(out, 'reportingInstance', reportingInstance);
  validateText(out, 'action', action);
  validateText(out, 'reason', reason);
  if (byteLength(message) > EVENT_NOTE_BYTES_MAX) out.push(tooLongText('message', EVENT_NOTE_BYTES_MAX));
}

function validateText(out: FieldError[], path: string, text: string): void {
  if (text === '') out.push(required(path));
  if (byteLength(text) > EVENT_TEXT_BYTES_MAX) out.push(tooLongText(path, EVENT_TEXT_BYTES_MAX));
}

const tooLongText = (path: string, max: number): FieldError => invalid(path, '', `can have at most ${max} characters`);

function validateSeries(out: FieldError[], { series }: Readonly<Event>): void {
  if (series === undefined) return;
  if ((series.count ?? 0) < SERIES_MIN) out.push(invalid('series.count', '', `should be at least ${SERIES_MIN}`));
  if ((series.lastObservedTime ?? '') === '') out.push(required('series.lastObservedTime'));
}

function shownField(event: Readonly<Event>, key: (typeof IMMUTABLE_FIELDS)[number]): unknown {
  if (key === 'involvedObject' || key === 'related') {
    return event[key] === undefined ? undefined : goValue('core.ObjectReference', event[key]);
  }
  if (key === 'source') return goValue('core.EventSource', event.source);
  if (key !== 'eventTime' && key !== 'firstTimestamp' && key !== 'lastTimestamp')
    return event[key] ?? (key === 'count' ? 0 : '');
  return goInstant(event[key] ?? '0001-01-01T00:00:00Z');
}
