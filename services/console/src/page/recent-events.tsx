import type { VNode } from 'preact';
import { latestEvents } from '../state/events.ts';
import { revisionAt } from '../state/history.ts';
import type { LiveTable } from '../state/live-table.ts';
import { EVENTS, listHash, NAMESPACES, pathOf } from '../state/routes.ts';
import { ageOf } from '../state/times.ts';
import { useShell } from './shell.tsx';
import { useLiveTable } from './use-live-table.tsx';

const SHOWN = 14;
/** More events are not listed to show a dozen of them: what happened short ago is followed instead. */
const ROWS_MAX = 200;
const BEFORE_MS = 60_000;

export function RecentEvents(): VNode {
  const shell = useShell();
  const from = (): Promise<string> => {
    const { api, machine } = shell;
    return revisionAt(api, pathOf(NAMESPACES), machine.iso(shell.time() - BEFORE_MS));
  };
  const { table, tick } = useLiveTable(pathOf(EVENTS), {}, { rowsMax: ROWS_MAX, from });
  const events = latestEvents(table.model, SHOWN);
  return (
    <section class="card events" aria-labelledby="events-title" data-tick={tick.value}>
      <h2 id="events-title">
        <a href={listHash(EVENTS)}>Events</a>
      </h2>
      {events.length === 0 ? (
        <p class="empty">{emptyText(table)}</p>
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

function emptyText({ isCut, liveness }: LiveTable): string {
  if (liveness === 'loading') return 'Loading';
  if (liveness === 'past' && isCut) return 'Too many were kept then: the list of events has them.';
  return isCut ? 'Nothing happened in the last minute.' : 'Nothing happened.';
}
