import assert from 'node:assert/strict';
import { test } from 'node:test';
import { container, created, createErrors, pod } from './testing.ts';

test('procMount is reset to the default everywhere while the feature is off', () => {
  const mounted = (procMount?: string) =>
    created(pod({ containers: [container({ securityContext: procMount === undefined ? {} : { procMount } })] })).spec
      .containers[0]?.securityContext;
  assert.deepEqual(mounted('Unmasked'), { procMount: 'Default' });
  assert.deepEqual(mounted('Default'), { procMount: 'Default' });
  assert.deepEqual(mounted(), {});
});

test('an image volume is dropped with its mounts while the feature is off', () => {
  const image = { name: 'i', image: { reference: 'busybox:1' } };
  const mount = (name: string) => ({ name, mountPath: `/${name}` });
  const object = pod({
    volumes: [image, { name: 'v', emptyDir: {} }],
    initContainers: [container({ name: 'a', volumeMounts: [mount('i')] })],
    containers: [container({ volumeMounts: [mount('i'), mount('v')] })],
  });
  const { spec } = created(object);
  assert.deepEqual(spec.volumes, [{ name: 'v', emptyDir: {} }]);
  assert.equal(spec.initContainers?.[0]?.volumeMounts, undefined);
  assert.deepEqual(spec.containers[0]?.volumeMounts, [mount('v')]);
  assert.deepEqual(createErrors(object), []);
  assert.equal(created(pod({ volumes: [image] })).spec.volumes, undefined);
});
