import { type ChildProcess, spawn } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { HELPER_ENVIRONMENT, helper } from '../../runtime/helpers.ts';
import { machineClock } from '../../runtime/process/standalone.ts';
import { DatagramReader, framedDatagram } from './datagram-frames.ts';
import { DATAGRAM_BACKLOG_MAX_BYTES, DATAGRAM_HELPER_RETRY_MS } from './limits.ts';
import type { OutsideLine } from './protocol.ts';
import { DatagramLines } from './relays.ts';
import { placed, readPlaced, readUdpPacket, udpPacket } from './udp-packets.ts';

/**
 * Node has no raw sockets. This program has two of them in the namespace that stands for all other networks: it writes each
 * UDP packet that arrives there as a frame, and sends each frame that it reads. It ends with its input.
 */
const PROGRAM = `
use strict; use Socket;
socket(my $in, PF_INET, SOCK_RAW, 17) or die $!;
socket(my $out, PF_INET, SOCK_RAW, 255) or die $!;
binmode STDIN; binmode STDOUT;
my $waiting = '';
while (1) {
  my $ready = ''; vec($ready, fileno(STDIN), 1) = 1; vec($ready, fileno($in), 1) = 1;
  next if select($ready, undef, undef, undef) < 0;
  if (vec($ready, fileno($in), 1)) {
    if (defined recv($in, my $packet, 65535, 0)) {
      my $frame = pack('nN', length $packet, 0) . $packet;
      while (length $frame) { my $n = syswrite(STDOUT, $frame); exit 0 unless $n; substr($frame, 0, $n) = ''; }
    }
  }
  if (vec($ready, fileno(STDIN), 1)) {
    exit 0 unless sysread(STDIN, $waiting, 65536, length $waiting);
    while (length $waiting >= 6) {
      my $size = unpack('n', $waiting);
      last if length $waiting < 6 + $size;
      my $packet = substr($waiting, 6, $size);
      substr($waiting, 0, 6 + $size) = '';
      next if $size < 28;
      my $host = substr($packet, 16, 4);
      send($out, $packet, 0, sockaddr_in(0, $host));
    }
  }
}
`;

export interface DatagramsOutDeps {
  /** The path of the control plane's socket. */
  readonly outside: string;
  readonly target: string;
}

/** Carries the datagrams of pods to other networks, until the returned function is called. The helper ends with this process. */
export function leadDatagramsOut(enter: readonly string[], deps: DatagramsOutDeps): () => void {
  const [program, ...args] = [...enter, helper('perl'), '-e', PROGRAM];
  let isStopped = false;
  let child: ChildProcess | undefined;
  const begin = (): void => {
    if (isStopped) return;
    const begun = spawn(program, args, { env: HELPER_ENVIRONMENT, stdio: ['pipe', 'pipe', 'inherit'] });
    child = begun;
    for (const each of [begun, begun.stdin, begun.stdout]) each.on('error', () => undefined);
    begun.on('close', () => machineClock.timer(DATAGRAM_HELPER_RETRY_MS, begin));
    begun.stdout.on('data', serveDatagramsOut(begun.stdin, deps));
  };
  begin();
  return () => {
    isStopped = true;
    child?.kill();
  };
}

/** Returns what takes the packets of pods, as frames. Packets for pods are written to `packets`. */
export function serveDatagramsOut(packets: Writable, deps: DatagramsOutDeps): (chunk: Buffer) => void {
  const reader = new DatagramReader();
  const lines = new DatagramLines((from) => new PodLine(from, packets, deps));
  return (chunk) => {
    for (const { bytes } of reader.push(chunk)) {
      const packet = readUdpPacket(bytes);
      if (packet !== undefined) lines.of(packet.from.host).send(packet.from.port, placed(packet.to, packet.bytes));
    }
  };
}

/** The datagrams of one pod share a connection to the control plane. Frames are numbered by the port of the pod. */
class PodLine {
  readonly #pod: string;
  readonly #packets: Writable;
  readonly #deps: DatagramsOutDeps;
  #line: Socket | undefined;

  constructor(pod: string, packets: Writable, deps: DatagramsOutDeps) {
    this.#pod = pod;
    this.#packets = packets;
    this.#deps = deps;
  }

  send(port: number, text: Buffer): void {
    this.#line ??= this.#connect();
    if (this.#line.writableLength <= DATAGRAM_BACKLOG_MAX_BYTES) this.#line.write(framedDatagram(port, text));
  }

  close(): void {
    this.#line?.destroy();
  }

  #connect(): Socket {
    const { outside, target } = this.#deps;
    const line = connect(outside);
    const reader = new DatagramReader();
    line.write(`${JSON.stringify({ target, protocol: 'udp', from: this.#pod } satisfies OutsideLine)}\n`);
    line.on('data', (chunk: Buffer) => {
      for (const { peer, bytes } of reader.push(chunk)) this.#receive(peer, bytes);
    });
    line.on('error', () => undefined);
    line.on('close', () => {
      if (this.#line === line) this.#line = undefined;
    });
    return line;
  }

  #receive(port: number, text: Buffer): void {
    const answer = readPlaced(text);
    if (answer === undefined || this.#packets.writableLength > DATAGRAM_BACKLOG_MAX_BYTES) return;
    const packet = udpPacket({ from: answer.place, to: { host: this.#pod, port }, bytes: answer.bytes });
    this.#packets.write(framedDatagram(0, packet));
  }
}
