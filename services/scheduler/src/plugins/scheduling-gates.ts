import type { Plugin } from '../framework/plugin.ts';

/** A pod with gates waits until its author removed the last one. */
export const createSchedulingGates = (): Plugin => ({
  name: 'SchedulingGates',
  gate: ({ pod }) => {
    const gates = pod.spec.schedulingGates ?? [];
    if (gates.length === 0) return undefined;
    return `waiting for scheduling gates: ${gates.map(({ name }) => name).join(', ')}`;
  },
});
