import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { badRequest, StatusError } from '@holdfast/machinery';
import { type Clock, describeError, type Log } from '@holdfast/platform';
import {
  asksForUpgrade,
  asksForWebSocket,
  listOf,
  offeredProtocols,
  webSocketHeaders,
} from '@holdfast/platform/websocket';
import type { ProcessStreams } from '../runtime/port.ts';
import type { CommandConnection, StreamOptions } from './command-connection.ts';
import { acceptCommandSpdy, COMMAND_SPDY_PROTOCOLS } from './command-spdy.ts';
import { acceptCommandWebSocket, COMMAND_WEBSOCKET_PROTOCOLS } from './command-websocket.ts';
import { forwardOverChannels, forwardOverSpdy, isPort, type PortForwardDeps, readPorts } from './forward-ports.ts';
import { STREAM_IDLE_MS } from './limits.ts';
import { runCommand } from './run-command.ts';
import { acceptTunnel } from './websocket/tunnel.ts';

export interface StreamDeps {
  readonly clock: Clock;
  readonly log: Log;
}

type Take = (socket: Duplex, head: Uint8Array) => Promise<void>;

/** Streams of a command or of a container, in whichever protocol the client speaks. */
export function serveCommand(
  deps: StreamDeps,
  request: ApiRequest,
  given: {
    readonly options: StreamOptions;
    readonly open: () => Promise<ProcessStreams>;
    /** Begins the sentence when it cannot be opened. */
    readonly what: string;
  },
): ApiResponse {
  const { clock } = deps;
  const { options, open, what } = given;
  const run = async (connection: CommandConnection | undefined): Promise<void> => {
    if (connection !== undefined) await runCommand(connection, open, what);
  };
  if (asksForWebSocket(request.headers)) {
    const [name, protocol] = choose(webSocketProtocols(request), COMMAND_WEBSOCKET_PROTOCOLS);
    return upgradeToWebSocket(deps, request, name, (socket, head) =>
      run(acceptCommandWebSocket(socket, head, { clock, options, protocol })),
    );
  }
  assertSpdy(request);
  const offered = listOf(request.headers['x-stream-protocol-version']);
  const [name, protocol] = choose(offered.length === 0 ? ['channel.k8s.io'] : offered, COMMAND_SPDY_PROTOCOLS);
  return upgradeToSpdy(deps, name, async (socket, head) =>
    run(await acceptCommandSpdy(socket, head, { clock, options, protocol })),
  );
}

const PORT_FORWARD_PROTOCOL = 'portforward.k8s.io';
const TUNNEL_PROTOCOL = `SPDY/3.1+${PORT_FORWARD_PROTOCOL}`;
const PORT_WEBSOCKET_PROTOCOLS: ReadonlyMap<string, 'tunnel' | 'binary' | 'base64'> = new Map([
  [TUNNEL_PROTOCOL, 'tunnel'],
  ['', 'binary'],
  ['v4.channel.k8s.io', 'binary'],
  ['v4.base64.channel.k8s.io', 'base64'],
]);

export function servePorts(
  deps: StreamDeps,
  request: ApiRequest,
  forward: Omit<PortForwardDeps, 'clock'>,
): ApiResponse {
  const ports: PortForwardDeps = { ...forward, clock: deps.clock };
  if (asksForWebSocket(request.headers)) {
    const [name, kind] = choose(webSocketProtocols(request), PORT_WEBSOCKET_PROTOCOLS);
    if (kind === 'tunnel') {
      return upgradeToWebSocket(deps, request, name, (socket, head) =>
        forwardOverSpdy(acceptTunnel(socket, head, deps.clock), new Uint8Array(), ports),
      );
    }
    const wanted = readPorts(request.query);
    if (wanted.length === 0) throw badRequest('query parameter "port" is required');
    const wrong = wanted.find((port) => !isPort(port));
    if (wrong !== undefined) throw badRequest(`invalid port ${wrong}: it must be between 1 and 65535`);
    return upgradeToWebSocket(deps, request, name, (socket, head) =>
      forwardOverChannels(socket, head, { ...ports, ports: wanted, encoding: kind }),
    );
  }
  assertSpdy(request);
  const offered = listOf(request.headers['x-stream-protocol-version']);
  const known = new Map([[PORT_FORWARD_PROTOCOL, undefined]]);
  const [name] = choose(offered.length === 0 ? [PORT_FORWARD_PROTOCOL] : offered, known);
  return upgradeToSpdy(deps, name, (socket, head) => forwardOverSpdy(socket, head, ports));
}

function assertSpdy({ headers }: ApiRequest): void {
  if (asksForUpgrade(headers) && (headers['upgrade'] ?? '').toLowerCase() === 'spdy/3.1') return;
  throw badRequest('Upgrade request required');
}

function webSocketProtocols({ headers }: ApiRequest): readonly string[] {
  const offered = offeredProtocols(headers);
  return offered.length === 0 ? [''] : offered;
}

/** The client's first choice that we know. */
function choose<T>(offered: readonly string[], known: ReadonlyMap<string, T>): readonly [string, T] {
  for (const name of offered) {
    const found = [...known].find(([each]) => each === name);
    if (found !== undefined) return found;
  }
  const names = [...known.keys()].filter((each) => each !== '').join(', ');
  throw new StatusError({
    code: 403,
    reason: 'Forbidden',
    message: `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${names}]`,
    details: {},
  });
}

function upgradeToWebSocket(deps: StreamDeps, { headers }: ApiRequest, protocol: string, take: Take): ApiResponse {
  const answer = webSocketHeaders(headers, protocol);
  if (answer === undefined) {
    throw badRequest('the WebSocket handshake needs Sec-WebSocket-Key and Sec-WebSocket-Version: 13');
  }
  return upgraded(deps, answer, take);
}

function upgradeToSpdy(deps: StreamDeps, protocol: string, take: Take): ApiResponse {
  const answer = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol };
  return upgraded(deps, answer, take);
}

function upgraded({ log }: StreamDeps, headers: Readonly<Record<string, string>>, take: Take): ApiResponse {
  return {
    status: 101,
    headers,
    body: { kind: 'empty' },
    upgrade: (socket, head) => {
      if (socket instanceof Socket) {
        socket.setNoDelay(true);
        socket.setTimeout(STREAM_IDLE_MS, () => socket.destroy());
      }
      take(socket, head).catch((error: unknown) => {
        log.error('a client stream failed', { error: describeError(error) });
        socket.destroy();
      });
    },
  };
}
