import {
  type Clock,
  createIds,
  createSeededRandom,
  createSilentLog,
  createSystemRandom,
  type Ids,
  type Log,
  type LogFields,
  type Random,
} from '@holdfast/platform';
import type { LogLine } from './options.ts';

/** What a component takes from its machine. */
export interface Machine {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
}

export interface MachinesOptions {
  readonly clock: Clock;
  /** Absent: the machine's randomness. */
  readonly seed: number | undefined;
  /** A fork continues with other ids than the cluster that it comes from. */
  readonly generation: string;
  readonly onLog: ((line: LogLine) => void) | undefined;
}

/** Returns the machine of each component. With a seed every component has its own stream of random numbers. */
export function createMachines({ clock, seed, generation, onLog }: MachinesOptions): (name: string) => Machine {
  return (name) => {
    const random = seed === undefined ? createSystemRandom() : createSeededRandom(seed, `${generation}/${name}`);
    return { clock, random, ids: createIds(random), log: createLog(name, onLog) };
  };
}

function createLog(component: string, onLog: MachinesOptions['onLog']): Log {
  if (onLog === undefined) return createSilentLog();
  const logWith = (own: LogFields): Log => {
    const at =
      (level: LogLine['level']) =>
      (message: string, fields: LogFields = {}): void =>
        onLog({ level, component, message, fields: { ...own, ...fields } });
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      child: (fields) => logWith({ ...own, ...fields }),
    };
  };
  return logWith({});
}
