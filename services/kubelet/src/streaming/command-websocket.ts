import type { Duplex } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import type { TerminalSize } from '../runtime/port.ts';
import { type CommandConnection, endText, readTerminalSizes, type StreamOptions } from './command-connection.ts';
import { CHANNEL_MESSAGE_MAX_BYTES } from './limits.ts';
import { acceptChannels, type ChannelEncoding } from './websocket/channels.ts';

/** Numbers of the channels of a command. */
const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

export interface ChannelProtocol {
  readonly encoding: ChannelEncoding;
  /** The error channel carries a `Status`. */
  readonly status: boolean;
}

/** Sub-protocols of WebSocket. '' is what a client speaks that names none. */
export const COMMAND_WEBSOCKET_PROTOCOLS: ReadonlyMap<string, ChannelProtocol> = new Map([
  ['', { encoding: 'binary', status: false }],
  ['channel.k8s.io', { encoding: 'binary', status: false }],
  ['base64.channel.k8s.io', { encoding: 'base64', status: false }],
  ['v4.channel.k8s.io', { encoding: 'binary', status: true }],
  ['v4.base64.channel.k8s.io', { encoding: 'base64', status: true }],
  ['v5.channel.k8s.io', { encoding: 'binary', status: true }],
]);

export function acceptCommandWebSocket(
  socket: Duplex,
  head: Uint8Array,
  given: { readonly clock: Clock; readonly options: StreamOptions; readonly protocol: ChannelProtocol },
): CommandConnection {
  const { clock, options, protocol } = given;
  const channels = acceptChannels(socket, head, { clock, encoding: protocol.encoding });
  const error = channels.output(CHANNEL.error);
  const stdout = options.stdout ? channels.output(CHANNEL.stdout) : undefined;
  const stderr = options.stderr && !options.tty ? channels.output(CHANNEL.stderr) : undefined;
  const stdin = options.stdin ? channels.input(CHANNEL.stdin) : undefined;
  let resize: Parameters<CommandConnection['onResize']>[0] | undefined;
  let latest: TerminalSize | undefined;
  let begun = '';
  channels.onMessage(CHANNEL.resize, (text) => {
    const { sizes, rest } = readTerminalSizes(begun + text);
    begun = rest.length > CHANNEL_MESSAGE_MAX_BYTES ? '' : rest;
    latest = sizes.at(-1) ?? latest;
    if (latest !== undefined && sizes.length > 0) resize?.(latest);
  });
  // Clients take an empty message as the sign that they are connected.
  (stdout ?? stderr ?? error).write(Buffer.alloc(0));
  return {
    stdin,
    stdout,
    stderr,
    onResize: (listener) => {
      resize = listener;
      // Clients send the size immediately; the command starts a moment later.
      if (latest !== undefined) listener(latest);
    },
    finish: (end) => {
      const text = endText(end, protocol.status);
      if (text === '') channels.close();
      else error.write(Buffer.from(text), () => channels.close());
    },
    closed: channels.closed,
  };
}
