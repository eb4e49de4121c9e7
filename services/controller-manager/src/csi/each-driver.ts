import type { ControllerDriver } from './port.ts';

/** The drivers one by one. Each has loops of its own: the workers that wait for a driver that hangs serve no other driver. */
export const each = (
  drivers: ReadonlyMap<string, ControllerDriver>,
): readonly ReadonlyMap<string, ControllerDriver>[] => [...drivers].map((entry) => new Map([entry]));
