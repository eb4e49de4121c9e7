import type { PriorityLevelConfigurationSpec } from '../generated/types.ts';
import type { BootstrapObject } from './bootstrap-object.ts';

/** The PriorityLevelConfigurations that every cluster has, as in Kubernetes 1.32. */
export type BootstrapPriorityLevel = BootstrapObject<PriorityLevelConfigurationSpec>;

interface Row {
  readonly shares: number;
  readonly lendablePercent: number;
  readonly queues: number;
  readonly handSize: number;
}

const queued = (name: string, { shares, lendablePercent, queues, handSize }: Row): BootstrapPriorityLevel => ({
  name,
  isMandatory: false,
  spec: {
    type: 'Limited',
    limited: {
      nominalConcurrencyShares: shares,
      lendablePercent,
      limitResponse: { type: 'Queue', queuing: { queues, handSize, queueLengthLimit: 50 } },
    },
  },
});

export const EXEMPT_PRIORITY_LEVEL: BootstrapPriorityLevel = {
  name: 'exempt',
  isMandatory: true,
  spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
};

export const CATCH_ALL_PRIORITY_LEVEL: BootstrapPriorityLevel = {
  name: 'catch-all',
  isMandatory: true,
  spec: {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
  },
};

export const BOOTSTRAP_PRIORITY_LEVELS: readonly BootstrapPriorityLevel[] = [
  EXEMPT_PRIORITY_LEVEL,
  CATCH_ALL_PRIORITY_LEVEL,
  queued('system', { shares: 30, lendablePercent: 33, queues: 64, handSize: 6 }),
  queued('node-high', { shares: 40, lendablePercent: 25, queues: 64, handSize: 6 }),
  queued('leader-election', { shares: 10, lendablePercent: 0, queues: 16, handSize: 4 }),
  queued('workload-high', { shares: 40, lendablePercent: 50, queues: 128, handSize: 6 }),
  queued('workload-low', { shares: 100, lendablePercent: 90, queues: 128, handSize: 6 }),
  queued('global-default', { shares: 20, lendablePercent: 50, queues: 128, handSize: 6 }),
];
