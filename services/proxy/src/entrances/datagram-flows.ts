import type { Clock, Timer } from '@holdfast/platform';
import { DATAGRAM_FLOW_IDLE_MS, DATAGRAMS_WAITING_MAX } from '../limits.ts';
import type { CarriedThrough } from './connections.ts';
import type { EntrancePlaces } from './entrance-places.ts';
import type { DatagramClient, DatagramPeer, DialDatagrams } from './port.ts';

interface DatagramFlowsDeps {
  readonly clock: Clock;
  readonly dial: DialDatagrams;
  readonly places: EntrancePlaces;
}

interface Flow {
  readonly entrance: string;
  readonly waiting: Uint8Array[];
  peer: DatagramPeer | undefined;
  usedAt: number;
  timer: Timer;
  isEnded: boolean;
  readonly release: () => void;
}

/** Carries datagrams from open ports to endpoints and back, each client over a flow of its own, and bounds their number. */
export class DatagramFlows {
  readonly #deps: DatagramFlowsDeps;
  readonly #flows = new Map<string, Flow>();

  constructor(deps: DatagramFlowsDeps) {
    this.#deps = deps;
  }

  /** A datagram that finds no place is lost. */
  carry(bytes: Uint8Array, client: DatagramClient, through: CarriedThrough): void {
    const { host, port } = through.to;
    const id = `${through.entrance} ${client.address} ${client.port} ${host} ${port}`;
    const flow = this.#flows.get(id) ?? this.#begin(id, client, through);
    if (flow === undefined) return;
    flow.usedAt = this.#deps.clock.monotonic();
    if (flow.peer !== undefined) flow.peer.send(bytes);
    else if (flow.waiting.length < DATAGRAMS_WAITING_MAX) flow.waiting.push(bytes);
  }

  /** The port is closed. */
  close(entrance: string): void {
    for (const [id, flow] of this.#flows) if (flow.entrance === entrance) this.#end(id, flow);
  }

  #begin(id: string, client: DatagramClient, { to, ...through }: CarriedThrough): Flow | undefined {
    const { clock, dial, places } = this.#deps;
    const release = places.take({ ...through, client: client.address });
    if (release === undefined) return undefined;
    const flow: Flow = {
      entrance: through.entrance,
      waiting: [],
      peer: undefined,
      usedAt: clock.monotonic(),
      timer: clock.timer(DATAGRAM_FLOW_IDLE_MS, () => this.#idle(id, flow)),
      isEnded: false,
      release,
    };
    this.#flows.set(id, flow);
    const message = (bytes: Uint8Array): void => {
      flow.usedAt = clock.monotonic();
      client.answer(bytes);
    };
    dial(to, { message, closed: () => this.#end(id, flow) }).then(
      (peer) => this.#joined(flow, peer),
      () => this.#end(id, flow),
    );
    return flow;
  }

  #joined(flow: Flow, peer: DatagramPeer): void {
    if (flow.isEnded) return peer.close();
    flow.peer = peer;
    for (const bytes of flow.waiting.splice(0)) peer.send(bytes);
  }

  #idle(id: string, flow: Flow): void {
    const { clock } = this.#deps;
    const left = flow.usedAt + DATAGRAM_FLOW_IDLE_MS - clock.monotonic();
    if (left <= 0) this.#end(id, flow);
    else flow.timer = clock.timer(left, () => this.#idle(id, flow));
  }

  #end(id: string, flow: Flow): void {
    if (flow.isEnded) return;
    flow.isEnded = true;
    this.#flows.delete(id);
    flow.timer.cancel();
    flow.peer?.close();
    flow.release();
  }
}
