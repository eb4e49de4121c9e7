import { ageOf } from '../../columns/age.ts';
import { textColumn, wide } from '../../columns/columns.ts';
import type { Event } from '../../generated/types.ts';
import type { Column } from '../../resource.ts';

/** The time of an event is in one of three fields, depending on its reporter. */
const firstSeen = (event: Readonly<Event>): string | null => event.firstTimestamp || event.eventTime;
function lastSeen(event: Readonly<Event>): string | null {
  if (event.series !== undefined) return event.series.lastObservedTime ?? null;
  return event.lastTimestamp || firstSeen(event);
}

function countOf(event: Readonly<Event>): number {
  if (event.series !== undefined) return event.series.count ?? 0;
  return event.count || 1;
}

function subject(event: Readonly<Event>): string {
  const { kind = '', name = '' } = event.involvedObject;
  return name === '' ? kind.toLowerCase() : `${kind.toLowerCase()}/${name}`;
}

function sourceText(event: Readonly<Event>): string {
  const component = event.source.component || event.reportingComponent;
  const host = event.source.host || event.reportingInstance;
  return host ? `${component}, ${host}` : component;
}

export const eventColumns: readonly Column<Event>[] = [
  textColumn('Last Seen', 'How long ago the event happened last', (event, { now }) => ageOf(lastSeen(event), now)),
  textColumn('Type', 'Normal or Warning', (event) => event.type ?? ''),
  textColumn('Reason', 'Why the event was reported, in one word', (event) => event.reason ?? ''),
  textColumn('Object', 'What the event is about', subject),
  wide(
    textColumn(
      'Subobject',
      'The part of the object that the event is about',
      (event) => event.involvedObject.fieldPath ?? '',
    ),
  ),
  wide(textColumn('Source', 'Who reported the event', sourceText)),
  textColumn('Message', 'What happened', (event) => (event.message ?? '').trim()),
  wide(
    textColumn('First Seen', 'How long ago the event happened first', (event, { now }) => ageOf(firstSeen(event), now)),
  ),
  wide(textColumn('Count', 'How often the event happened', countOf)),
  wide({
    name: 'Name',
    type: 'string',
    format: 'name',
    description: 'The name of the event',
    priority: 0,
    cell: (event) => event.metadata.name ?? '',
  }),
];
