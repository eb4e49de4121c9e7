import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SpanAttributes, Tracer } from '@holdfast/platform';
import { TIMED_EVERY } from './limits.ts';
import { createSchedulerMetrics } from './metrics.ts';
import { NO_GAUGES } from './testing/cluster.ts';
import { rig } from './testing/rig.ts';

/** The value of a series, 0 when absent. */
function valueOf(metrics: string, series: string): number {
  const line = metrics.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? 0);
}

test('plugin calls are counted always, and measured in some of the decisions', async (t) => {
  const { clock, schedulers, addNode, addPod, stop } = await rig();
  t.after(stop);
  addNode('n1');
  addNode('n2');
  await clock.advance(10);
  const pods = TIMED_EVERY + 1;
  for (let i = 0; i < pods; i++) {
    addPod(`p${i}`, { cpu: '10m' });
    await clock.advance(100);
  }
  const metrics = schedulers[0]?.metrics() ?? '';
  const asked = (point: string): number =>
    valueOf(
      metrics,
      `scheduler_plugin_evaluation_total{extension_point="${point}",plugin="NodeResourcesFit",profile="default-scheduler"}`,
    );
  assert.equal(asked('PreFilter'), pods);
  assert.equal(asked('PreScore'), pods);
  // Two nodes for the first pod; each later pod checks only the node that got the last one.
  assert.equal(asked('Filter'), 2 + pods - 1);
  assert.ok(metrics.includes('# TYPE scheduler_plugin_evaluation_total counter'));
  const timed = (point: string, status: string, plugin = 'NodeResourcesFit'): number =>
    valueOf(
      metrics,
      `scheduler_plugin_execution_duration_seconds_count{extension_point="${point}",plugin="${plugin}",status="${status}"}`,
    );
  assert.equal(timed('PreFilter', 'Success'), 2, 'the first decision and the eleventh');
  assert.equal(timed('PreFilter', 'Skip', 'NodePorts'), 2);
  assert.equal(timed('Filter', 'Success'), 4, 'on both nodes');
  assert.equal(timed('Score', 'Success', 'ImageLocality') + timed('PreScore', 'Skip', 'ImageLocality') > 0, true);
});

test('metrics cover queueing hints, cluster changes and binding steps', async (t) => {
  const { clock, schedulers, addNode, addPod, stop } = await rig();
  t.after(stop);
  addPod('waits', { cpu: '4' });
  await clock.advance(100);
  addNode('small', { cpu: '1' });
  await clock.advance(20_000);
  addNode('large', { cpu: '8' });
  await clock.advance(20_000);
  const metrics = schedulers[0]?.metrics() ?? '';
  const count = (series: string): number => valueOf(metrics, series);
  assert.ok(
    metrics.includes('scheduler_queueing_hint_execution_duration_seconds_count{event="NodeAdd",hint='),
    metrics,
  );
  assert.equal(count('scheduler_event_handling_duration_seconds_count{event="NodeAdd"}'), 1, 'one of two');
  assert.equal(count('scheduler_event_handling_duration_seconds_count{event="UnschedulablePodAdd"}'), 1);
  const step = (point: string): number =>
    count(
      `scheduler_framework_extension_point_duration_seconds_count{extension_point="${point}",profile="default-scheduler",status="Success"}`,
    );
  assert.deepEqual([step('Reserve'), step('Bind')], [1, 1]);
  for (const line of [
    'scheduler_goroutines{operation="binding"} 0',
    'scheduler_scheduler_cache_size{type="nodes"} 2',
  ]) {
    assert.ok(metrics.split('\n').includes(line), line);
  }
  assert.ok(metrics.includes('# TYPE scheduler_inflight_events gauge'));
});

test('the duration of an attempt starts with its decision, and that of a pod when its gates are removed', async (t) => {
  const { clock, schedulers, addNode, addPod, stop } = await rig();
  t.after(stop);
  addPod('late', { cpu: '1' });
  addPod('gated', { cpu: '1', spec: { schedulingGates: [{ name: 'g' }] } });
  await clock.advance(100_000);
  addNode('n1');
  await clock.advance(10_000);
  addPod('gated', { cpu: '1' });
  await clock.advance(1_000);
  const metrics = schedulers[0]?.metrics() ?? '';
  const scheduled = '{profile="default-scheduler",result="scheduled"}';
  assert.equal(valueOf(metrics, `scheduler_scheduling_attempt_duration_seconds_count${scheduled}`), 2);
  const attempts = valueOf(metrics, `scheduler_scheduling_attempt_duration_seconds_sum${scheduled}`);
  assert.ok(attempts < 5, `${attempts} s: only decisions and bindings`);
  assert.ok(
    valueOf(metrics, 'scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="1"}') < 5,
    'gates do not count',
  );
});

test('with tracing on, each decision and each binding is a span', async (t) => {
  const spans: (readonly [name: string, told: SpanAttributes])[] = [];
  const tracer: Tracer = {
    span: (name, { attributes }, work) => {
      const told = { ...attributes };
      spans.push([name, told]);
      return work({ set: (more) => void Object.assign(told, more) });
    },
    traceparent: () => undefined,
    within: (_cause, work) => work(),
  };
  const { clock, addNode, addPod, stop } = await rig(1, { tracer });
  t.after(stop);
  addPod('a', { cpu: '1' });
  await clock.advance(1_000);
  addNode('n1');
  await clock.advance(20_000);
  const key = 'default/a';
  const message = 'no nodes available to schedule pods';
  assert.deepEqual(spans, [
    [
      'Scheduling',
      { 'holdfast.key': key, 'holdfast.attempt': 1, 'holdfast.result': 'refuse', 'holdfast.message': message },
    ],
    ['Scheduling', { 'holdfast.key': key, 'holdfast.attempt': 2, 'holdfast.result': 'place', 'holdfast.node': 'n1' }],
    ['bind pod', { 'holdfast.key': key, 'holdfast.node': 'n1' }],
  ]);
});

test('pod resources and the configuration in use are served', async (t) => {
  const { clock, schedulers, addNode, addPod, stop } = await rig();
  t.after(stop);
  addNode('n1', { cpu: '1' });
  addPod('placed', { cpu: '500m', memory: '1Mi', spec: { priority: 7 } });
  await clock.advance(1_000);
  addPod('waits', { cpu: '4' });
  await clock.advance(1_000);
  const [scheduler] = schedulers;
  const text = scheduler?.resourceMetrics() ?? '';
  const series = (pod: string, node: string, priority: string, resource: string): string =>
    `kube_pod_resource_request{namespace="default",pod="${pod}",node="${node}",scheduler="",priority="${priority}",${resource}}`;
  assert.equal(valueOf(text, series('placed', 'n1', '7', 'resource="cpu",unit="cores"')), 0.5);
  assert.equal(valueOf(text, series('placed', 'n1', '7', 'resource="memory",unit="bytes"')), 1_048_576);
  assert.equal(valueOf(text, series('waits', '', '', 'resource="cpu",unit="cores"')), 4);
  const shown = JSON.stringify(scheduler?.shownConfiguration());
  assert.ok(shown.includes('{"name":"TaintToleration","weight":3}'), shown);
  assert.ok(shown.includes('"resourceName":"kube-scheduler"'), shown);
});

test('the shown configuration reports leader election, for any caller', async (t) => {
  for (const leaderElection of [true, false]) {
    const { schedulers, stop } = await rig(1, { leaderElection });
    t.after(stop);
    const shown = JSON.stringify(schedulers[0]?.shownConfiguration());
    assert.ok(shown.includes(`"leaderElect":${leaderElection}`), shown);
  }
});

test('the requests of a pod are reported once during its binding', async (t) => {
  const { clock, api, schedulers, addNode, addPod, stop } = await rig();
  t.after(stop);
  addNode('n1');
  await clock.advance(10);
  let meanwhile = '';
  api.before = ({ path }) => {
    if (path.endsWith('/binding')) meanwhile = schedulers[0]?.resourceMetrics() ?? '';
  };
  addPod('bound', { cpu: '1', memory: '0' });
  await clock.advance(100);
  const series = meanwhile.split('\n').filter((line) => line.startsWith('kube_pod_resource_request{'));
  assert.equal(series.length, 1, meanwhile);
});

test('pods with fifteen or more attempts share a series, and leadership is reported when it is elected', () => {
  const metrics = createSchedulerMetrics({ ...NO_GAUGES, isLeader: () => true });
  for (const attempts of [14, 15, 40]) metrics.bound(attempts, 1);
  const text = metrics.render();
  assert.equal(valueOf(text, 'scheduler_pod_scheduling_sli_duration_seconds_count{attempts="14"}'), 1);
  assert.equal(valueOf(text, 'scheduler_pod_scheduling_sli_duration_seconds_count{attempts="15+"}'), 2);
  assert.equal(valueOf(text, 'leader_election_master_status{name="kube-scheduler"}'), 1);
  assert.ok(!createSchedulerMetrics(NO_GAUGES).render().includes('leader_election_master_status{'));
});
