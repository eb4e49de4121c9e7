import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
import fc from 'fast-check';
import { buildEnvironment, type EnvironmentSources, expandAll, podField } from './environment.ts';

/** Names that every object has, and some that it has not. */
const names = fc.constantFrom('__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty', 'A', 'B');
const texts = fc.string({ maxLength: 4, unit: fc.constantFrom('a', 'b', ' ') });
const maps = fc.dictionary(names, texts, { noNullPrototype: false });

const container = (env: Container['env']): Container => ({
  name: 'constructor',
  resources: {},
  envFrom: [{ configMapRef: { name: 'm' } }],
  ...(env === undefined ? {} : { env }),
});

const sourcesOf = (data: Readonly<Record<string, string>>, labels: Record<string, string> = {}): EnvironmentSources => {
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', labels, annotations: labels },
    spec: { containers: [] },
    status: {},
  };
  return { pod, podIp: '', hostIp: '', allocatable: {}, data: new Map([['ConfigMap/m', data]]) };
};

test('variables of a ConfigMap reach the container with any name, and none is lost', () => {
  fc.assert(
    fc.property(maps, (data) => {
      const environment = buildEnvironment(container(undefined), sourcesOf(data));
      assert.deepEqual(new Map(Object.entries(environment)), new Map(Object.entries(data)));
      assert.equal(Object.getPrototypeOf(environment), Object.prototype);
    }),
  );
});

test('a reference to a variable named like an Object.prototype member is not expanded until it exists', () => {
  fc.assert(
    fc.property(maps, names, texts, (data, name, value) => {
      const reference = `$(${name})`;
      const expected = Object.hasOwn(data, name) ? data[name] : reference;
      const env = [
        { name: 'COPY', value: reference },
        { name, value },
        { name: 'LATER', value: reference },
      ];
      const environment = buildEnvironment(container(env), sourcesOf(data));
      assert.equal(environment['COPY'], expected);
      assert.equal(environment['LATER'], value);
      assert.deepEqual(expandAll([reference], environment), [value]);
      assert.deepEqual(expandAll([reference], {}), [reference]);
    }),
  );
});

test('a missing label or key is not found on the prototype of its map', () => {
  fc.assert(
    fc.property(maps, names, (labels, name) => {
      const sources = sourcesOf(labels, labels);
      const own = Object.hasOwn(labels, name) ? labels[name] : undefined;
      for (const kind of ['labels', 'annotations']) {
        assert.equal(podField(`metadata.${kind}['${name}']`, sources), own ?? '');
      }
      const configMapKeyRef = { name: 'm', key: name, optional: true };
      const environment = buildEnvironment(
        { name: 'c', resources: {}, env: [{ name: 'X', valueFrom: { configMapKeyRef } }] },
        sources,
      );
      assert.equal(environment['X'], own);
    }),
  );
});
