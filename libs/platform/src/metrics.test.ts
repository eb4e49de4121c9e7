import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetricRegistry } from './metrics.ts';

test('a histogram counts a value in every bucket that is large enough', () => {
  const registry = new MetricRegistry();
  const histogram = registry.histogram('h', 'help', { labelNames: ['verb'], buckets: [1, 2, 4] });
  const get = histogram.series(['get']);
  assert.equal(registry.render().split('\n')[2], '', 'nothing was seen yet');
  for (const value of [0.5, 1]) histogram.observe(['get'], value);
  for (const value of [3, 9]) get(value);
  const lines = registry.render().split('\n');
  assert.deepEqual(lines.slice(2, 8), [
    'h_bucket{verb="get",le="1"} 2',
    'h_bucket{verb="get",le="2"} 2',
    'h_bucket{verb="get",le="4"} 3',
    'h_bucket{verb="get",le="+Inf"} 4',
    'h_sum{verb="get"} 13.5',
    'h_count{verb="get"} 4',
  ]);
});

test('labels are separated and escaped, in any number', () => {
  const registry = new MetricRegistry();
  const counter = registry.counter('c', 'help', ['a', 'b']);
  for (const labels of [
    ['x', 'y"'],
    ['xy', '"'],
    ['x', 'y"'],
  ])
    counter.add(labels);
  assert.deepEqual(registry.render().split('\n').slice(2, 4), ['c{a="x",b="y\\""} 2', 'c{a="xy",b="\\""} 1']);
});
