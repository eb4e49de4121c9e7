import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PULL_LAYERS_MAX } from './limits.ts';
import { PullLayers } from './pull-layers.ts';

test('the progress of a pull is the sum of its layers', () => {
  const layers = new PullLayers();
  assert.deepEqual(layers.progress, { bytes: 0, totalBytes: 0, layers: 0, layersDone: 0 });
  layers.take({ status: 'Pulling from library/nginx', id: '1.27' });
  layers.take({ status: 'Already exists', id: 'a' });
  layers.take({ status: 'Pulling fs layer', id: 'b', progressDetail: {} });
  layers.take({ status: 'Downloading', id: 'b', progressDetail: { current: 30, total: 100 } });
  layers.take({ status: 'Downloading', id: 'c', progressDetail: { current: 5, total: 10 } });
  assert.deepEqual(layers.progress, { bytes: 35, totalBytes: 110, layers: 3, layersDone: 1 });
  layers.take({ status: 'Extracting', id: 'c', progressDetail: { current: 1, total: 10 } });
  layers.take({ status: 'Pull complete', id: 'c' });
  layers.take({ status: 'Digest: sha256:1' });
  assert.deepEqual(layers.progress, { bytes: 40, totalBytes: 110, layers: 3, layersDone: 2 });
});

test('an engine that names layers without end is not kept', () => {
  const layers = new PullLayers();
  for (let i = 0; i < PULL_LAYERS_MAX + 5; i++) layers.take({ status: 'Pulling fs layer', id: `${i}` });
  assert.equal(layers.progress.layers, PULL_LAYERS_MAX);
});
