import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Clock, describeError, type Log } from '@holdfast/platform';
import type { Packet } from 'dns-packet';
import { FairPlaces } from '../pod-network/agent/fair-places.ts';
import { RESPONSE_CODES, replyTo, respond } from './answer.ts';
import {
  DNS_ADDRESSES_TRIED,
  DNS_FORWARDS_MAX,
  DNS_FORWARDS_PER_SOURCE_MAX,
  DNS_MESSAGE_MAX_BYTES,
  DNS_PORT,
  DNS_UDP_BYTES,
} from './limits.ts';
import type { KnownNames } from './look-up.ts';
import { QueryConnections } from './query-connections.ts';
import { askUpstream, type Transport, type UpstreamDeps } from './upstream.ts';

export interface NameServerDeps {
  readonly names: KnownNames;
  /** True when `names` are complete; before that a cluster name may not be reported as missing. */
  readonly isComplete: () => boolean;
  readonly upstream: UpstreamDeps;
  readonly clock: Clock;
  readonly log: Log;
  /** Default: that of DNS. Resolvers know no other one; only tests do. */
  readonly port?: number;
  /** The only address to listen at. Default: a free loopback address. */
  readonly address?: string | undefined;
}

/** One query. */
export interface Asked {
  readonly bytes: Buffer;
  /** The address of the client. */
  readonly source: string;
  readonly transport: Transport;
}

const TOO_MANY = new Error('too many questions at once');

type Codec = typeof import('dns-packet');

/** They exist on every machine and are not reachable from others. */
const loopbackAddresses = (): readonly string[] =>
  Array.from({ length: DNS_ADDRESSES_TRIED }, (_, attempt) => `127.96.0.${10 + attempt}`);

/** Answers for the names of the cluster and passes all other questions on to whom the machine asks. */
export class NameServer {
  readonly #deps: NameServerDeps;
  readonly #connections: QueryConnections;
  #codec: Codec | undefined;
  #listening:
    | { readonly address: string; readonly port: number; readonly udp: UdpSocket; readonly tcp: Server }
    | undefined;
  readonly #forwards = new FairPlaces({ perHolder: DNS_FORWARDS_PER_SOURCE_MAX, all: DNS_FORWARDS_MAX });

  constructor(deps: NameServerDeps) {
    this.#deps = deps;
    this.#connections = new QueryConnections({
      clock: deps.clock,
      answer: (bytes, source) => this.answer({ bytes, source, transport: 'tcp' }),
    });
  }

  /** The listen address; `undefined` when it cannot listen: then pods use the machine's resolver. */
  address(): { readonly address: string; readonly port: number } | undefined {
    return this.#listening;
  }

  async start(): Promise<void> {
    const { log, port = DNS_PORT, address } = this.#deps;
    this.#codec = (await import('dns-packet')).default;
    for (const each of address === undefined ? loopbackAddresses() : [address]) {
      try {
        this.#listening = await this.#listen(each, port);
        return;
      } catch (error) {
        if (isInUse(error)) continue;
        log.warn('service names are not resolved: this process cannot listen on the DNS port', { error });
        return;
      }
    }
    log.warn('service names are not resolved: every address that was tried is in use', { port, address });
  }

  async stop(): Promise<void> {
    const listening = this.#listening;
    this.#listening = undefined;
    this.#connections.close();
    if (listening === undefined) return;
    await Promise.all([
      new Promise<void>((resolve) => listening.udp.close(() => resolve())),
      new Promise<void>((resolve) => listening.tcp.close(() => resolve())),
    ]);
  }

  /** Listens on UDP and TCP or on neither: clients repeat a query over TCP when the answer is too long for UDP. */
  async #listen(address: string, wanted: number) {
    const tcp = createServer({ allowHalfOpen: true }, (socket) => this.accept(socket, socket.remoteAddress ?? ''));
    await new Promise<void>((resolve, reject) => tcp.on('error', reject).listen(wanted, address, resolve));
    const bound = tcp.address();
    const port = typeof bound === 'object' && bound !== null ? bound.port : wanted;
    const udp = createSocket('udp4');
    try {
      await new Promise<void>((resolve, reject) => udp.on('error', reject).bind(port, address, resolve));
    } catch (error) {
      tcp.close();
      udp.close();
      throw error;
    }
    udp.on('error', (error) => this.#deps.log.warn('a DNS query was not answered', { error }));
    tcp.on('error', (error) => this.#deps.log.warn('a DNS connection was not accepted', { error }));
    udp.on('message', (query, from) => void this.#answerDatagram(udp, query, from));
    return { address, port, udp, tcp };
  }

  async #answerDatagram(udp: UdpSocket, bytes: Buffer, from: RemoteInfo): Promise<void> {
    const answer = await this.answer({ bytes, source: from.address, transport: 'udp' });
    // The sender may have gone away, and this server may have been stopped.
    if (answer !== undefined && this.#listening?.udp === udp) udp.send(answer, from.port, from.address, () => {});
  }

  /** Answers the queries of a connection. The number of connections of one source is bounded. */
  accept(socket: Duplex, source: string): void {
    this.#connections.serve(socket, source);
  }

  /** `undefined`: that was no question. */
  async answer(asked: Asked): Promise<Buffer | undefined> {
    const { bytes, transport } = asked;
    const query = this.#decode(bytes);
    if (query === undefined || query.type === 'response') return undefined;
    try {
      const reply = replyTo(this.#deps.names, query);
      if (reply.kind === 'forward') return await this.#forward(asked);
      if (!this.#deps.isComplete()) throw new Error('the services are not known yet');
      if (reply.kind === 'answer') return this.#encode(query, reply.packet, transport);
      const rest = await this.#askFor(query, { target: reply.target, source: asked.source });
      return this.#encode(query, { ...reply.packet, answers: [...(reply.packet.answers ?? []), ...rest] }, transport);
    } catch (error) {
      this.#deps.log.debug('a DNS query was not answered', { error: describeError(error) });
      return this.#codec?.encode(respond(query, { code: RESPONSE_CODES.serverFailure }));
    }
  }

  /** The answers about another name. */
  async #askFor(
    query: Packet,
    { target, source }: { readonly target: string; readonly source: string },
  ): Promise<NonNullable<Packet['answers']>> {
    const [question] = query.questions ?? [];
    const asked = { ...query, questions: [{ ...(question ?? { type: 'A' }), name: target }], additionals: [] };
    const bytes = this.#codec?.encode(asked) ?? Buffer.alloc(0);
    return this.#decode(await this.#forward({ bytes, source, transport: 'udp' }))?.answers ?? [];
  }

  async #forward({ bytes, source, transport }: Asked): Promise<Buffer> {
    const given = new AbortController();
    const release = this.#forwards.take(source, () => given.abort(TOO_MANY));
    if (release === undefined) throw TOO_MANY;
    try {
      return await askUpstream(this.#deps.upstream, { bytes, transport, signal: given.signal });
    } finally {
      release();
    }
  }

  #encode(query: Packet, packet: Packet, transport: Transport): Buffer {
    const codec = this.#codec;
    if (codec === undefined) throw new Error('the name server was not started');
    const bytes = codec.encode(packet);
    const room = transport === 'tcp' ? DNS_MESSAGE_MAX_BYTES : roomOf(query);
    if (bytes.length <= room) return bytes;
    const truncated = { ...packet, flags: (packet.flags ?? 0) | codec.TRUNCATED_RESPONSE, authorities: [] };
    // The client asks again over TCP, and gets as many as there is room for.
    if (transport === 'udp') return codec.encode({ ...truncated, answers: [] });
    return encodeFirst(codec, truncated, { room, length: bytes.length });
  }

  #decode(bytes: Buffer): Packet | undefined {
    try {
      return this.#codec?.decode(bytes);
    } catch {
      return undefined;
    }
  }
}

/** As many answers as have room. Each round leaves one out at least. */
function encodeFirst(codec: Codec, packet: Packet, { room, length }: { room: number; length: number }): Buffer {
  let bytes: Buffer;
  let answers = packet.answers ?? [];
  let tooLong = length;
  do {
    answers = answers.slice(0, Math.floor((answers.length * room) / tooLong));
    bytes = codec.encode({ ...packet, answers });
    tooLong = bytes.length;
  } while (tooLong > room);
  return bytes;
}

/** Returns the client's maximum size from its EDNS record. */
function roomOf({ additionals = [] }: Packet): number {
  const said = additionals.flatMap((each) => (each.type === 'OPT' ? [each.udpPayloadSize] : []));
  return Math.max(DNS_UDP_BYTES, ...said);
}

const isInUse = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
