import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { negotiate, takesAny } from './negotiation.ts';

test('repeated Accept headers are cached, long or numerous ones are not', () => {
  for (let round = 0; round < 2; round++) {
    assert.equal(negotiate('application/yaml;q=0.5, application/json;as=Table;g=meta.k8s.io;v=v1').shape, 'table');
    assert.equal(negotiate('text/html, */*;q=0.1').encoding, 'json');
    for (let i = 0; i < 300; i++) assert.equal(negotiate(`text/x${i}, application/yaml`).encoding, 'yaml');
    const long = `${'text/html,'.repeat(1_000)}application/yaml`;
    assert.deepEqual([negotiate(long).encoding, takesAny(long, ['application/json'])], ['yaml', false]);
  }
});
