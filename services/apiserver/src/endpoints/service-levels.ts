import { labelText, MetricRegistry } from '@holdfast/platform';

/** Results of this server's health checks under the names of availability metrics. */
export interface ServiceLevels {
  observe(check: string, endpoint: string, isHealthy: boolean): void;
  render(): string;
}

const LABELS = ['name', 'type'] as const;

export function createServiceLevels(): ServiceLevels {
  const registry = new MetricRegistry();
  const latest = new Map<string, number>();
  registry.gauge('kubernetes_healthcheck', 'What a health check found when it was last asked.', () => [...latest]);
  const total = registry.counter('kubernetes_healthchecks_total', 'Results of health checks.', [...LABELS, 'status']);
  return {
    observe: (check, endpoint, isHealthy) => {
      latest.set(labelText(LABELS, [check, endpoint]), isHealthy ? 1 : 0);
      total.add([check, endpoint, isHealthy ? 'success' : 'error']);
    },
    render: () => registry.render(),
  };
}
