import type { Bus } from '@holdfast/bus';
import type { Clock, Random } from '@holdfast/platform';

export interface Faults {
  /** Share of messages that never arrive. */
  readonly loss: number;
  /** Share of messages that arrive twice. */
  readonly doubling: number;
  /** Each copy is late by up to this, so messages overtake each other. */
  readonly delayMs: number;
}

/** The consumer's side of a bus that does what a bus may do: messages are lost, doubled, delayed and reordered. */
export function withFaults(
  bus: Bus,
  deps: { readonly clock: Clock; readonly random: Random; readonly faults: Faults; readonly onDelivered: () => void },
): Bus {
  const { clock, random, faults, onDelivered } = deps;
  return {
    publish: (messages) => bus.publish(messages),
    health: () => bus.health(),
    close: () => bus.close(),
    subscribe: async (patterns, options) => {
      let open = true;
      const subscription = await bus.subscribe(patterns, {
        ...options,
        onMessage: (message) => {
          const copies = random.float() < faults.loss ? 0 : random.float() < faults.doubling ? 2 : 1;
          for (let copy = 0; copy < copies; copy++) {
            clock.timer(random.float() * faults.delayMs, () => {
              if (!open) return;
              onDelivered();
              options.onMessage(message);
            });
          }
        },
      });
      return {
        close: async () => {
          open = false;
          await subscription.close();
        },
      };
    },
  };
}
