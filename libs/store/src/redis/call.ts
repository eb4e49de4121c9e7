import { nextTurn } from '@holdfast/platform';
import type { Redis } from 'ioredis';
import type { Script } from './scripts.ts';

/** An error reply that proves that the command was not executed. */
export class NotExecuted extends Error {
  override readonly name = 'NotExecuted';
}

/** Error replies that precede any effect. */
const BEFORE_EFFECT =
  /^-?(LOADING|BUSY|READONLY|OOM|NOREPLICAS|MISCONF|NOSCRIPT|MASTERDOWN|NOAUTH|NOPERM|WRONGPASS|CLUSTERDOWN|MOVED|ASK|TRYAGAIN)\b/;

/** Commands that are sent together. */
interface Packet {
  readonly sends: (() => void)[];
  readonly uncork: () => void;
}

const gathering = new WeakMap<Redis, Packet>();

/**
 * Sends all commands of one turn of the event loop in one packet. A system call for each would cost more than
 * everything else.
 */
export function gather(redis: Redis): Redis {
  packetOf(redis);
  return redis;
}

/** Calls `send` when the packet of this turn is sent, as part of it. So callers can batch what the turn collected. */
export function withPacket<T>(redis: Redis, send: () => Promise<T>): Promise<T> {
  const packet = packetOf(redis);
  if (packet === undefined) return send();
  return new Promise((resolve, reject) => {
    packet.sends.push(() => void send().then(resolve, reject));
  });
}

/** Sends the collected commands now. The turn continues with a new packet. */
export function leaveNow(redis: Redis): void {
  const packet = gathering.get(redis);
  if (packet !== undefined) leave(redis, packet);
}

/** Returns `undefined` without a connection. Calls then fail immediately. */
function packetOf(redis: Redis): Packet | undefined {
  const begun = gathering.get(redis);
  const { stream } = redis;
  if (begun !== undefined || stream === undefined || stream === null) return begun;
  const packet: Packet = { sends: [], uncork: () => stream.uncork() };
  gathering.set(redis, packet);
  stream.cork();
  void nextTurn().then(() => {
    if (gathering.get(redis) === packet) leave(redis, packet);
  });
  return packet;
}

function leave(redis: Redis, packet: Packet): void {
  for (const send of packet.sends) send();
  gathering.delete(redis);
  packet.uncork();
}

export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly arguments: readonly (string | number)[];
}

/**
 * Runs a script. Sends its text when the server does not know it yet. Rejects with `NotExecuted`, with another error
 * reply of the server (`isServerError`), or with a connection error, after which the outcome is unknown.
 */
export async function callScript(redis: Redis, call: ScriptCall): Promise<unknown> {
  const { script, keys } = call;
  gather(redis);
  try {
    return await redis.evalsha(script.sha, keys.length, ...keys, ...call.arguments);
  } catch (error) {
    if (!isServerError(error) || !error.message.startsWith('NOSCRIPT')) throw asNotExecuted(error);
  }
  try {
    return await redis.eval(script.source, keys.length, ...keys, ...call.arguments);
  } catch (error) {
    throw asNotExecuted(error);
  }
}

export function isServerError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

function asNotExecuted(error: unknown): unknown {
  if (!isServerError(error) || !BEFORE_EFFECT.test(error.message)) return error;
  return new NotExecuted(error.message, { cause: error });
}
