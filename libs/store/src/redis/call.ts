import { nextTurn } from '@holdfast/platform';
import type { Redis } from 'ioredis';
import type { Script } from './scripts.ts';

/** An answer of the server that says the command was not executed. */
export class NotExecuted extends Error {
  override readonly name = 'NotExecuted';
}

/** Error answers that come before any effect. */
const BEFORE_EFFECT =
  /^-?(LOADING|BUSY|READONLY|OOM|NOREPLICAS|MISCONF|NOSCRIPT|MASTERDOWN|NOAUTH|NOPERM|WRONGPASS|CLUSTERDOWN|MOVED|ASK|TRYAGAIN)\b/;

const gathering = new WeakMap<Redis, (() => void)[]>();

/** What is called within one turn of the event loop leaves in one packet: a system call each would cost more than the rest. */
export function gather(redis: Redis): Redis {
  packetOf(redis);
  return redis;
}

/** Calls `send` at the end of this turn, as a part of its packet: what belongs together has come together by then. */
export function atEndOfTurn<T>(redis: Redis, send: () => Promise<T>): Promise<T> {
  const packet = packetOf(redis);
  if (packet === undefined) return send();
  return new Promise((resolve, reject) => {
    packet.push(() => void send().then(resolve, reject));
  });
}

/** `undefined` without a connection: what is called then fails at once. */
function packetOf(redis: Redis): (() => void)[] | undefined {
  const begun = gathering.get(redis);
  const { stream } = redis;
  if (begun !== undefined || stream === undefined || stream === null) return begun;
  const packet: (() => void)[] = [];
  gathering.set(redis, packet);
  stream.cork();
  void nextTurn().then(() => {
    for (const send of packet) send();
    gathering.delete(redis);
    stream.uncork();
  });
  return packet;
}

export interface ScriptCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly arguments: readonly (string | number)[];
}

/**
 * Runs a script, sending its text when the server does not know it yet. Rejects with `NotExecuted`, with another error
 * answer of the server (`isServerError`), or with a connection error after which nothing is known.
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
