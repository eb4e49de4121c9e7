import type { VNode } from 'preact';
import { latestEvents } from '../state/events.ts';
import { EVENTS, listHash, pathOf } from '../state/routes.ts';
import { ageOf } from '../state/times.ts';
import { useShell } from './shell.tsx';
import { useLiveTable } from './use-live-table.tsx';

const SHOWN = 14;

export function RecentEvents(): VNode {
  const shell = useShell();
  const { table, tick } = useLiveTable(pathOf(EVENTS));
  const events = latestEvents(table.model, SHOWN);
  return (
    <section class="card events" aria-labelledby="events-title" data-tick={tick.value}>
      <h2 id="events-title">
        <a href={listHash(EVENTS)}>Events</a>
      </h2>
      {events.length === 0 ? (
        <p class="empty">Nothing happened.</p>
      ) : (
        <ol>
          {events.map((event) => (
            <li key={event.key} class={event.isWarning ? 'warning' : ''}>
              <span class="what">
                <strong>{event.reason}</strong> {event.object}
              </span>
              <time>{ageOf(event.at, shell.shownTime)}</time>
              <p>{event.message}</p>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
