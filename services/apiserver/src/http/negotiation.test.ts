import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { ACCEPT_CLAUSES_MAX, ACCEPT_PARAMETERS_MAX } from '../limits.ts';
import { encodingFor, negotiate, takesAny } from './negotiation.ts';

test('repeated Accept headers are cached, long or numerous ones are not', () => {
  for (let round = 0; round < 2; round++) {
    assert.equal(negotiate('application/yaml;q=0.5, application/json;as=Table;g=meta.k8s.io;v=v1').shape, 'table');
    assert.equal(negotiate('text/html, */*;q=0.1').encoding, 'json');
    for (let i = 0; i < 300; i++) assert.equal(negotiate(`text/x${i}, application/yaml`).encoding, 'yaml');
    const long = `${'text/html,'.repeat(ACCEPT_CLAUSES_MAX - 1)}application/yaml`;
    assert.deepEqual([negotiate(long).encoding, takesAny(long, ['application/json'])], ['yaml', false]);
  }
});

test('of a long Accept header only the first entries are read, and their first parameters', () => {
  const late = `${'text/html,'.repeat(ACCEPT_CLAUSES_MAX)}application/yaml`;
  assert.deepEqual([encodingFor(late), takesAny(late, ['application/yaml'])], ['json', false]);
  assert.throws(() => negotiate(late), { code: 406 });
  const wide = (count: number): string => `application/json${';x=1'.repeat(count)};as=Table;g=meta.k8s.io;v=v1`;
  assert.equal(negotiate(wide(ACCEPT_PARAMETERS_MAX - 3)).shape, 'table');
  assert.equal(negotiate(wide(ACCEPT_PARAMETERS_MAX)).shape, 'object');
});
