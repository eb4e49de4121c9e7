import { type Clock, describeError, type Log } from '@holdfast/platform';
import { CONNTRACK_TIMEOUT_MS } from '../limits.ts';
import type { FlowTable, StaleFlows } from './port.ts';
import { runProgram } from './run-program.ts';

export interface ConntrackOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Runs `conntrack` with these arguments. Default: a child of this process. */
  readonly run?: (args: readonly string[]) => Promise<string>;
}

/** Removes flows with the program `conntrack`. Where it is not installed, flows end by their own time-out. */
export function createConntrackFlows({ clock, log, run = runHere(clock) }: ConntrackOptions): FlowTable {
  let isUseless = false;
  const remove = async (args: readonly string[]): Promise<void> => {
    if (isUseless) return;
    try {
      await run(args);
    } catch (error) {
      const reason = describeError(error);
      // The program fails when no flow matches.
      if (/\b0 flow entries/.test(reason)) return;
      isUseless = /cannot be run/.test(reason);
      log.warn(isUseless ? MISSING : 'stale UDP flows cannot be removed', { error: reason });
    }
  };
  return {
    forget: async (flows) => {
      const commands = new Map(flows.map((flow) => [commandOf(flow).join(' '), commandOf(flow)]));
      for (const args of commands.values()) await remove(args);
    },
  };
}

const MISSING =
  'the program conntrack is not installed: UDP clients find new endpoints after a time-out of up to 2 minutes';

const runHere =
  (clock: Clock) =>
  (args: readonly string[]): Promise<string> =>
    runProgram(['conntrack', ...args], { input: '', clock, timeoutMs: CONNTRACK_TIMEOUT_MS });

function commandOf({ family, address, port, target }: StaleFlows): readonly string[] {
  return [
    '--delete',
    ...(family === 'ip6' ? ['--family', 'ipv6'] : []),
    '--proto',
    'udp',
    ...(address === undefined ? [] : ['--orig-dst', address]),
    '--orig-port-dst',
    `${port}`,
    ...(target === undefined ? [] : ['--dst-nat', target]),
  ];
}
