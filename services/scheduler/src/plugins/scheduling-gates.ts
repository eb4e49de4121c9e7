import { define } from '../framework/definition.ts';

/** A gated pod waits until its author removes the last gate. */
export const SCHEDULING_GATES = define('SchedulingGates', ['preEnqueue'], () => ({
  preEnqueue: ({ pod }) => {
    const gates = pod.spec.schedulingGates ?? [];
    if (gates.length === 0) return undefined;
    return `waiting for scheduling gates: [${gates.map(({ name }) => name).join(' ')}]`;
  },
}));
