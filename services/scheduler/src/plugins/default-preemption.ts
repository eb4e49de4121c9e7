import { findCandidates } from '../domain/preemption.ts';
import type { PluginDefinition } from '../framework/definition.ts';
import { decodeDefaultPreemptionArgs } from './args/small-args.ts';

/** Makes room for a pod that fits nowhere by evicting less important pods of one node. */
export const DEFAULT_PREEMPTION: PluginDefinition = {
  name: 'DefaultPreemption',
  points: ['postFilter'],
  configure: (raw) => {
    const limits = decodeDefaultPreemptionArgs(raw);
    return () => ({ postFilter: (context) => findCandidates(context, limits) });
  },
};
