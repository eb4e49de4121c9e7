import { labelText, type MetricRegistry } from '@holdfast/platform';
import type { KmsProvider } from './provider.ts';

/** Doubling from 0.1 ms to 52 s. */
const CALL_SECONDS = Array.from({ length: 20 }, (_, i) => 0.0001 * 2 ** i);

/** Under the names of Kubernetes. */
export function registerKmsMetrics(registry: MetricRegistry, providers: readonly KmsProvider[]): void {
  if (providers.length === 0) return;
  const seconds = registry.histogram(
    'apiserver_envelope_encryption_kms_operations_latency_seconds',
    'Time that calls of KMS plugins took.',
    { labelNames: ['provider_name', 'method_name', 'grpc_status_code'], buckets: CALL_SECONDS },
  );
  for (const provider of providers) {
    provider.onCall(({ method, code, seconds: taken }) => seconds.observe([provider.name, method, code], taken));
  }
  registry.gauge(
    'apiserver_envelope_encryption_dek_source_cache_size',
    'Decrypted seeds that are kept in memory, by KMS provider.',
    () => providers.map((provider) => [labelText(['provider_name'], [provider.name]), provider.seedCount()]),
  );
}
