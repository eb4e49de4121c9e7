import { eventually } from '@holdfast/platform/contract';
import type { Bus, BusMessage, SubscribeOptions, Subscription } from '../port.ts';
import { changeSubject } from '../subjects.ts';

export { eventually };

/** A change of a ConfigMap-like object of resource `things`, unless a subject is given. */
export function message(revision: number, parts: Partial<BusMessage> = {}): BusMessage {
  return {
    subject: thing(`t${revision}`),
    revision,
    previous: revision === 1 ? undefined : revision - 1,
    data: JSON.stringify({ type: 'ADDED', revision, key: `test.dev/things/ns/t${revision}` }),
    ...parts,
  };
}

export function thing(name: string, resource = 'things'): string {
  return changeSubject({ group: 'test.dev', resource, namespace: 'ns', name });
}

export async function publishAll(bus: Bus, messages: readonly BusMessage[]): Promise<void> {
  for (const each of messages) await bus.publish([each]);
}

/** Subscribes and remembers what arrives. */
export async function collect(
  bus: Bus,
  patterns: string | readonly string[],
  options: Omit<SubscribeOptions, 'onMessage'> = {},
): Promise<{
  readonly received: BusMessage[];
  readonly revisions: () => number[];
  readonly subscription: Subscription;
}> {
  const received: BusMessage[] = [];
  const subscription = await bus.subscribe(patterns, { ...options, onMessage: (each) => received.push(each) });
  return { received, revisions: () => received.map((each) => each.revision), subscription };
}
