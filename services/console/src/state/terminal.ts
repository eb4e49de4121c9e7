import { type Fetch, patientFetch, ticketOf } from './api.ts';
import type { Wire, WireEvents, Wires } from './machine.ts';
import type { ApiObject } from './object.ts';
import { PODS, pathOf } from './routes.ts';

export interface TerminalWay {
  readonly machine: { readonly fetch: Fetch; readonly pause: (ms: number) => Promise<void>; readonly wire: Wires };
  readonly guard: string;
}

export interface TerminalAsked {
  readonly container: string;
  /** Absent: what runs already. */
  readonly command: readonly string[] | undefined;
}

export interface TerminalEvents {
  opened(wire: Wire): void;
  message(bytes: Uint8Array): void;
  closed(): void;
}

/** A ticket, and at once the WebSocket that it opens. */
export async function openTerminal(
  { machine, guard }: TerminalWay,
  { metadata }: ApiObject,
  { container, command }: TerminalAsked,
  events: TerminalEvents,
): Promise<void> {
  const ticket = await ticketOf(patientFetch(machine.fetch, machine.pause), guard);
  const query = new URLSearchParams({ container, stdin: 'true', stdout: 'true', tty: 'true' });
  for (const word of command ?? []) query.append('command', word);
  const path = `${pathOf(PODS, metadata.namespace ?? '', metadata.name)}/${command === undefined ? 'attach' : 'exec'}`;
  const told: WireEvents = {
    opened: () => events.opened(wire),
    message: (bytes) => events.message(bytes),
    closed: () => events.closed(),
  };
  const wire = machine.wire(
    `/ui/stream${path}?${query.toString()}`,
    ['v5.channel.k8s.io', `holdfast.ticket.${ticket}`],
    told,
  );
}
