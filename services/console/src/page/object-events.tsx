import type { VNode } from 'preact';
import { latestEvents } from '../state/events.ts';
import type { ApiObject } from '../state/object.ts';
import { EVENTS, pathOf } from '../state/routes.ts';
import { ageOf } from '../state/times.ts';
import { Card } from './card.tsx';
import { useShell } from './shell.tsx';
import { useLiveTable } from './use-live-table.tsx';

const SHOWN = 50;

/** What happened to this object, live. */
export function ObjectEvents({ object }: { readonly object: ApiObject; readonly tick: number }): VNode {
  const shell = useShell();
  const { name, namespace = '', uid } = object.metadata;
  // The events of a node carry its name as their uid.
  const isCluster = namespace === '';
  const fieldSelector = isCluster
    ? `involvedObject.kind=${object.kind},involvedObject.name=${name}`
    : `involvedObject.uid=${uid}`;
  const { table, tick } = useLiveTable(pathOf(EVENTS, namespace), { fieldSelector });
  const events = latestEvents(table.model, SHOWN);
  return (
    <div class="events" data-tick={tick.value}>
      <Card title="Events">
        {events.length === 0 ? (
          <p class="empty">None that are still kept.</p>
        ) : (
          <ol>
            {events.map((event) => (
              <li key={event.key} class={event.isWarning ? 'warning' : ''}>
                <span class="what">
                  <strong>{event.reason}</strong>
                </span>
                <time>{ageOf(event.at, shell.shownTime)}</time>
                <p>{event.message}</p>
              </li>
            ))}
          </ol>
        )}
      </Card>
    </div>
  );
}
