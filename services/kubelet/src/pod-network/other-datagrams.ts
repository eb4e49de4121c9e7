import { createSocket, type Socket } from 'node:dgram';
import { type Clock, RecentMap, type Timer } from '@holdfast/platform';
import { FairPlaces, type FairPlacesBounds } from './agent/fair-places.ts';
import { placed, readPlaced } from './agent/udp-packets.ts';
import {
  DATAGRAM_PEERS_PER_PORT_MAX,
  DATAGRAM_PORT_IDLE_MS,
  DATAGRAM_PORTS_MAX,
  DATAGRAM_PORTS_PER_POD_MAX,
} from './limits.ts';
import type { Place } from './outside.ts';

/** Sends what comes for a port of the pod, with the place that it comes from. */
type Say = (podPort: number, text: Buffer) => void;

/** The datagrams of one pod. */
export interface PodDatagrams {
  receive(podPort: number, text: Buffer): Promise<void>;
  close(): void;
}

export interface OtherDatagramsDeps {
  readonly clock: Clock;
  readonly mayReach: (place: Place) => Promise<boolean>;
}

const BOUNDS: FairPlacesBounds = { perHolder: DATAGRAM_PORTS_PER_POD_MAX, all: DATAGRAM_PORTS_MAX };

/**
 * Exchanges datagrams of pods with other networks. Each port of a pod has a socket of this machine, at which only those
 * whom the pod has asked are heard. When all sockets are in use, the pod that has the most loses one.
 */
export class OtherDatagrams {
  readonly #deps: OtherDatagramsDeps;
  readonly #places: FairPlaces;

  constructor(deps: OtherDatagramsDeps, bounds = BOUNDS) {
    this.#deps = deps;
    this.#places = new FairPlaces(bounds);
  }

  /** `pod` is its address. */
  open(pod: string, say: Say): PodDatagrams {
    const ports = new Map<number, PortSocket>();
    let isClosed = false;
    const socketOf = (podPort: number): PortSocket | undefined => {
      const known = ports.get(podPort);
      if (known !== undefined || isClosed) return known;
      const release = this.#places.take(pod, () => ports.get(podPort)?.close());
      if (release === undefined) return undefined;
      const made = new PortSocket(this.#deps, {
        say: (text) => say(podPort, text),
        onClose: () => {
          ports.delete(podPort);
          release();
        },
      });
      ports.set(podPort, made);
      return made;
    };
    return {
      receive: async (podPort, text) => socketOf(podPort)?.send(text),
      close: () => {
        isClosed = true;
        for (const each of ports.values()) each.close();
      },
    };
  }
}

interface PortUse {
  readonly say: (text: Buffer) => void;
  readonly onClose: () => void;
}

const nameOf = ({ host, port }: Place): string => `${host} ${port}`;

class PortSocket {
  readonly #deps: OtherDatagramsDeps;
  readonly #use: PortUse;
  readonly #socket: Socket;
  /** Whether a place may be asked, and heard. */
  readonly #peers = new RecentMap<string, boolean>(DATAGRAM_PEERS_PER_PORT_MAX);
  #usedAt: number;
  #timer: Timer;
  #isClosed = false;

  constructor(deps: OtherDatagramsDeps, use: PortUse) {
    this.#deps = deps;
    this.#use = use;
    this.#usedAt = deps.clock.monotonic();
    this.#timer = deps.clock.timer(DATAGRAM_PORT_IDLE_MS, () => this.#idle());
    this.#socket = createSocket('udp4');
    this.#socket.on('error', () => this.close());
    this.#socket.on('message', (bytes, { address: host, port }) => {
      if (this.#peers.touch(nameOf({ host, port })) !== true) return;
      this.#usedAt = deps.clock.monotonic();
      use.say(placed({ host, port }, bytes));
    });
  }

  async send(text: Buffer): Promise<void> {
    const asked = readPlaced(text);
    if (asked === undefined || !(await this.#mayReach(asked.place)) || this.#isClosed) return;
    this.#usedAt = this.#deps.clock.monotonic();
    const { host, port } = asked.place;
    this.#socket.send(asked.bytes, port, host, () => undefined);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer.cancel();
    this.#socket.close();
    this.#use.onClose();
  }

  async #mayReach(place: Place): Promise<boolean> {
    const name = nameOf(place);
    const known = this.#peers.touch(name);
    if (known !== undefined) return known;
    const may = await this.#deps.mayReach(place);
    this.#peers.set(name, may);
    return may;
  }

  #idle(): void {
    const left = this.#usedAt + DATAGRAM_PORT_IDLE_MS - this.#deps.clock.monotonic();
    if (left <= 0) this.close();
    else this.#timer = this.#deps.clock.timer(left, () => this.#idle());
  }
}
