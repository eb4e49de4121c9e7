import { type Bus, type BusMessage, HEARTBEAT_SUBJECT } from '@holdfast/bus';
import type { SimulatedNetwork } from './network.ts';

/** The party name of the bus server on the simulated network. */
export const BUS_PARTY = 'bus';

/** One subscription falls behind, or loses what a server sends it while it is too slow. */
export interface ChannelWay {
  readonly lateMs?: number;
  readonly isLost?: boolean;
}

/**
 * One party's connection to the bus. Every message crosses the simulated network and may be lost, duplicated or
 * reordered.
 */
export function createSimulatedBus(options: {
  network: SimulatedNetwork;
  party: string;
  hub: Bus;
  /** False once the party's incarnation has crashed. */
  alive: () => boolean;
  onError: (error: unknown) => void;
  /** What is wrong with the messages of a subject on their way to this party. */
  wayOf?: (subject: string) => ChannelWay | undefined;
}): Bus {
  const { network, party, hub, alive, onError, wayOf } = options;
  const receive = (message: BusMessage, deliver: () => void): void => {
    const label = `${message.subject} ${message.revision}`;
    const way = wayOf?.(message.subject);
    if (way?.isLost === true) return;
    network.sendDatagram({ from: BUS_PARTY, to: party, label, deliver, lateMs: way?.lateMs ?? 0 });
  };
  const receiveBeat = beatsTogether(receive);
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
          if (message.subject === HEARTBEAT_SUBJECT) receiveBeat(message, deliver);
          else receive(message, deliver);
        },
      }),
    health: () => [],
    close: () => Promise.resolve(),
  };
}

/**
 * One datagram carries a heartbeat to all subscriptions of a party: heartbeats are most of the traffic of a quiet
 * cluster.
 */
function beatsTogether(receive: (message: BusMessage, deliver: () => void) => void): typeof receive {
  const underWay = new WeakMap<BusMessage, (() => void)[]>();
  return (message, deliver) => {
    const waiting = underWay.get(message);
    if (waiting !== undefined) {
      waiting.push(deliver);
      return;
    }
    const all = [deliver];
    underWay.set(message, all);
    receive(message, () => {
      for (const each of all) each();
    });
  };
}
