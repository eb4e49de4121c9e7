import type { CommitRule } from './commit-rules.ts';
import { BOUNDED, QUOTA } from './workloads.ts';

/** The quota is there since long before the run, so every API server knows it. */
export const quotaRules: Readonly<Record<string, CommitRule>> = {
  'a namespace gets no more than its quota': ({ resource, before, after, by, objects }) => {
    if (resource !== 'configmaps' || before !== undefined || after?.metadata.namespace !== BOUNDED) return undefined;
    const there = [...objects].filter(([key]) => key.startsWith(`core/configmaps/${BOUNDED}/`)).length;
    return there + 1 > QUOTA ? `${by} created number ${there + 1} of ${QUOTA}` : undefined;
  },
};
