import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetricRegistry } from '@holdfast/platform';
import { registerKmsMetrics } from './metrics.ts';
import type { KmsCallMeasure } from './plugin.ts';
import type { KmsProvider } from './provider.ts';

test('a call of a KMS plugin is counted with its time and code, by provider', () => {
  const registry = new MetricRegistry();
  let listener: (measure: KmsCallMeasure) => void = () => assert.fail('nobody listens to the calls');
  const provider = { name: 'vault', onCall: (given: typeof listener) => void (listener = given), seedCount: () => 3 };
  registerKmsMetrics(registry, [provider as unknown as KmsProvider]);
  listener({ method: '/v2/Decrypt', code: 'Unavailable', seconds: 0.00015 });
  const text = registry.render();
  const call = 'provider_name="vault",method_name="/v2/Decrypt",grpc_status_code="Unavailable"';
  const name = 'apiserver_envelope_encryption_kms_operations_latency_seconds';
  assert.ok(text.includes(`${name}_sum{${call}} 0.00015\n`), text);
  assert.ok(text.includes(`${name}_bucket{${call},le="0.0001"} 0\n`), text);
  assert.ok(text.includes(`${name}_bucket{${call},le="0.0002"} 1\n`), text);
  assert.ok(text.includes('apiserver_envelope_encryption_dek_source_cache_size{provider_name="vault"} 3\n'), text);
});

test('without KMS providers there are no metrics of them', () => {
  const registry = new MetricRegistry();
  registerKmsMetrics(registry, []);
  assert.ok(!registry.render().includes('envelope_encryption'));
});
