import { labelText, type MetricRegistry } from '@holdfast/platform';
import type { ApiServices } from './api-services.ts';

/** Whether each registered API answers, by the names of kube-apiserver. */
export function addAvailabilityMetrics(registry: MetricRegistry, apis: Pick<ApiServices, 'health'>): void {
  registry.gauge('aggregator_unavailable_apiservice', 'Whether the API is unavailable (1) or not (0).', () =>
    apis.health().map(({ name, isAvailable }) => [labelText(['name'], [name]), isAvailable ? 0 : 1]),
  );
  registry.counted('aggregator_unavailable_apiservice_total', 'How often an API became unavailable, by reason.', () =>
    apis
      .health()
      .flatMap(({ name, losses }) =>
        [...losses].map(([reason, count]) => [labelText(['name', 'reason'], [name, reason]), count] as const),
      ),
  );
}
