import type { Bus } from '@holdfast/bus';
import type { SimulatedNetwork } from './network.ts';

/** The party name of the bus server on the simulated network. */
export const BUS_PARTY = 'bus';

/** One party's connection to the bus: every message crosses the simulated network and may be lost, doubled or overtaken. */
export function createSimulatedBus(options: {
  network: SimulatedNetwork;
  party: string;
  hub: Bus;
  /** False once the party's incarnation has crashed. */
  alive: () => boolean;
  onError: (error: unknown) => void;
}): Bus {
  const { network, party, hub, alive, onError } = options;
  return {
    publish: (messages) => {
      const deliver = (): void => {
        hub.publish(messages).catch(onError);
      };
      const named = messages.map(({ subject, revision }) => `${subject} ${revision}`).join(', ');
      network.send({ from: party, to: BUS_PARTY, label: `publish ${named}`, deliver });
      return Promise.resolve();
    },
    subscribe: (pattern, subscription) =>
      hub.subscribe(pattern, {
        ...subscription,
        onMessage: (message) => {
          const deliver = (): void => {
            if (alive()) subscription.onMessage(message);
          };
          network.sendDatagram({
            from: BUS_PARTY,
            to: party,
            label: `${message.subject} ${message.revision}`,
            deliver,
          });
        },
      }),
    health: () => [],
    close: () => Promise.resolve(),
  };
}
