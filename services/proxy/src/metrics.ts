import { MetricRegistry } from '@holdfast/platform';

export interface ProxyMetrics {
  serviceChanged(): void;
  endpointsChanged(): void;
  /** `nowMs` is the wall clock. */
  synced(sync: { readonly kind: 'full' | 'partial'; readonly seconds: number; readonly nowMs: number }): void;
  failed(): void;
  render(): string;
}

const SECONDS = [
  0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
];

/** Names of kube-proxy, so that its dashboards and alerts work. */
export function createProxyMetrics(): ProxyMetrics {
  const registry = new MetricRegistry();
  const histogram = (name: string, help: string) =>
    registry.histogram(name, help, { labelNames: [], buckets: SECONDS });
  const all = histogram('kubeproxy_sync_proxy_rules_duration_seconds', 'Duration of one update of the rules.');
  const full = histogram(
    'kubeproxy_sync_full_proxy_rules_duration_seconds',
    'Duration of updates that write every rule.',
  );
  const partial = histogram(
    'kubeproxy_sync_partial_proxy_rules_duration_seconds',
    'Duration of updates that write only what changed.',
  );
  const services = registry.counter('kubeproxy_sync_proxy_rules_service_changes_total', 'Changes of Services.', []);
  const endpoints = registry.counter(
    'kubeproxy_sync_proxy_rules_endpoint_changes_total',
    'Changes of EndpointSlices.',
    [],
  );
  const failures = registry.counter(
    'kubeproxy_sync_proxy_rules_nftables_sync_failures_total',
    'Updates of the rules that failed.',
    [],
  );
  let lastMs = 0;
  registry.gauge(
    'kubeproxy_sync_proxy_rules_last_timestamp_seconds',
    'Time of the last update of the rules that succeeded.',
    () => [['', lastMs / 1_000]],
  );
  return {
    serviceChanged: () => services.add([]),
    endpointsChanged: () => endpoints.add([]),
    synced: ({ kind, seconds, nowMs }) => {
      lastMs = nowMs;
      all.observe([], seconds);
      (kind === 'full' ? full : partial).observe([], seconds);
    },
    failed: () => failures.add([]),
    render: () => registry.render(),
  };
}
