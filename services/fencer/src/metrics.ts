import { MetricRegistry } from '@holdfast/platform';

export interface FencerMetrics {
  claimed(boundSeconds: number): void;
  /** From the detection of the partition to the confirmation; `undefined` when no partition was detected. */
  fenced(seconds: number | undefined): void;
  failed(agent: string): void;
  render(): string;
}

const SECONDS = [1, 5, 15, 30, 60, 120, 300, 600, 1200, 3600];

export function createFencerMetrics(partitioned: () => number): FencerMetrics {
  const registry = new MetricRegistry();
  let bound = 0;
  registry.gauge('fencer_partitioned_nodes', 'Nodes that look cut off.', () => [['', partitioned()]]);
  registry.gauge(
    'fencer_reaction_bound_seconds',
    'Of the last fence: from the loss of the node to the confirmation, at most.',
    () => [['', bound]],
  );
  const claims = registry.counter('fencer_fences_started_total', 'Fences that were begun.', []);
  const failures = registry.counter('fencer_agent_failures_total', 'Answers of agents that confirm nothing.', [
    'agent',
  ]);
  const seconds = registry.histogram(
    'fencer_reaction_seconds',
    'From the first sight of a partition to the confirmed fence.',
    { labelNames: [], buckets: SECONDS },
  );
  return {
    claimed: (boundSeconds) => {
      bound = boundSeconds;
      claims.add([]);
    },
    fenced: (taken) => {
      if (taken !== undefined) seconds.observe([], taken);
    },
    failed: (agent) => failures.add([agent]),
    render: () => registry.render(),
  };
}
