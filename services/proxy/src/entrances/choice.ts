import {
  chooseTargets,
  cidrContains,
  type Service as KubeService,
  parseCidr,
  parseIp,
  type ServicePort,
  type TrafficPlace,
  type TrafficTarget,
  trafficTargets,
} from '@holdfast/api';
import { keyOf } from '@holdfast/client';
import type { Clock, Random } from '@holdfast/platform';
import { ENTRANCE_CLIENTS_MAX } from '../limits.ts';
import { affinitySecondsOf } from '../services/affinity.ts';
import type { ServiceView } from '../services/service-fragment.ts';
import type { Place } from './port.ts';

export interface Choosing {
  readonly view: ServiceView;
  readonly port: ServicePort;
  readonly client: string;
}

interface Kept {
  readonly place: Place;
  readonly untilMs: number;
}

/** Chooses the endpoint of each connection by the policies and the session affinity of its service. */
export class EndpointChoice {
  readonly #deps: { readonly clock: Clock; readonly random: Random; readonly place: TrafficPlace };
  /** By service, port and client, the longest unused first. */
  readonly #clients = new Map<string, Kept>();

  constructor(deps: { readonly clock: Clock; readonly random: Random; readonly place: TrafficPlace }) {
    this.#deps = deps;
  }

  /** `undefined`: no endpoint takes the connection. */
  choose(choosing: Choosing): Place | undefined {
    const places = this.#places(choosing);
    const { view, port, client } = choosing;
    const seconds = affinitySecondsOf(view.service);
    if (seconds === undefined) return this.#any(places);
    const id = `${keyOf(view.service)} ${port.protocol ?? 'TCP'} ${port.port} ${client}`;
    const kept = this.#clients.get(id);
    const isValid = kept !== undefined && kept.untilMs > this.#deps.clock.monotonic();
    const place = (isValid ? places.find((each) => isSame(each, kept.place)) : undefined) ?? this.#any(places);
    this.#keep(id, place, seconds);
    return place;
  }

  #places({ view: { service, slices }, port }: Choosing): readonly Place[] {
    const { cluster, local } = chooseTargets(endpointsOf(slices, port), this.#deps.place);
    const chosen = service.spec.externalTrafficPolicy === 'Local' ? local : cluster;
    return chosen.map(({ address, port: number }) => ({ host: address, port: number }));
  }

  #any(places: readonly Place[]): Place | undefined {
    return places[Math.floor(this.#deps.random.float() * places.length)];
  }

  #keep(id: string, place: Place | undefined, seconds: number): void {
    this.#clients.delete(id);
    if (place === undefined) return;
    const [oldest] = this.#clients.keys();
    if (this.#clients.size >= ENTRANCE_CLIENTS_MAX && oldest !== undefined) this.#clients.delete(oldest);
    this.#clients.set(id, { place, untilMs: this.#deps.clock.monotonic() + seconds * 1_000 });
  }
}

/** Of both families: the entrance makes a connection of its own. */
const endpointsOf = (slices: ServiceView['slices'], port: ServicePort): readonly TrafficTarget[] =>
  (['IPv4', 'IPv6'] as const).flatMap((family) => trafficTargets(slices, port, family));

const isSame = (one: Place, other: Place): boolean => one.host === other.host && one.port === other.port;

/** `loadBalancerSourceRanges` close the address of the load balancer to all others. */
export function isAllowedSource({ spec }: Pick<KubeService, 'spec'>, client: string): boolean {
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const ip = parseIp(client);
  if (ranges.length === 0) return true;
  return ip !== undefined && ranges.some((text) => containsIp(text, ip));
}

function containsIp(text: string, ip: NonNullable<ReturnType<typeof parseIp>>): boolean {
  const range = parseCidr(text.trim());
  return range !== undefined && cidrContains(range, { ip, prefix: ip.family === 'IPv4' ? 32 : 128 });
}
