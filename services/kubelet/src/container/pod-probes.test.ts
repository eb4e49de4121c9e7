import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Probe } from '@holdfast/api';
import fc from 'fast-check';
import { RuntimeError } from '../runtime/port.ts';
import { app, VirtualPod } from '../testing/virtual-pod.ts';
import type { ProbeNetwork } from './probe-network.ts';

const http = (change: Partial<Probe> = {}): Probe => ({
  httpGet: { port: 80, path: '/ready' },
  periodSeconds: 5,
  ...change,
});
const tcp = (change: Partial<Probe> = {}): Probe => ({ tcpSocket: { port: 80 }, periodSeconds: 5, ...change });
const podOf = (change: Partial<Container>, network: Partial<ProbeNetwork>, spec = {}): VirtualPod =>
  new VirtualPod({ containers: [app('main', change)], ...spec }, network);

/** A server whose state the test sets; every request is remembered. */
function server(): { network: Partial<ProbeNetwork>; asked: string[]; status: number; isOpen: boolean } {
  const state = { asked: [] as string[], status: 200, isOpen: true };
  const network: Partial<ProbeNetwork> = {
    httpGet: ({ url }) => {
      state.asked.push(url);
      return Promise.resolve({ status: state.status });
    },
    connect: () => (state.isOpen ? Promise.resolve() : Promise.reject(new Error('connection refused'))),
  };
  return Object.assign(state, { network });
}

test('[PROBE-05] an HTTP probe is a GET to the pod, successful from 200 to 399, with path, scheme, port name and headers as given', async () => {
  const requests: Parameters<ProbeNetwork['httpGet']>[0][] = [];
  const web = server();
  const network: Partial<ProbeNetwork> = {
    httpGet: (request) => {
      requests.push(request);
      return Promise.resolve({ status: web.status });
    },
  };
  const named = app('main', {
    ports: [{ name: 'web', containerPort: 8443 }],
    readinessProbe: {
      httpGet: {
        port: 'web',
        path: 'health?full=1',
        scheme: 'HTTPS',
        httpHeaders: [{ name: 'Host', value: 'x.example' }],
      },
      periodSeconds: 1,
      failureThreshold: 1,
    },
  });
  const pod = await new VirtualPod({ containers: [named] }, network).run(1);
  const [first] = requests;
  assert.match(first?.url ?? '', /^https:\/\/10\.[\d.]+:8443\/health\?full=1$/);
  assert.deepEqual([first?.headers['host'], first?.headers['user-agent']], ['x.example', 'kube-probe/1.32']);
  assert.equal(first?.timeoutMs, 1_000);
  for (const [status, isReady] of [
    [199, false],
    [200, true],
    [302, true],
    [399, true],
    [400, false],
    [503, false],
  ] as const) {
    web.status = status;
    await pod.run(2);
    assert.equal(pod.container('main').ready, isReady, `status ${status}`);
  }
  await pod.stop();
});

test('[PROBE-05] an HTTP probe without path and scheme requests / over plain HTTP', async () => {
  const web = server();
  const pod = await podOf({ readinessProbe: { httpGet: { port: 80 }, periodSeconds: 60 } }, web.network).run(2);
  assert.match(web.asked[0] ?? '', /^http:\/\/10\.[\d.]+:80\/$/);
  await pod.stop();
});

test('[PROBE-04] a gRPC probe checks the health of its service, and only SERVING is success', async () => {
  const asked: (readonly [string, number, string])[] = [];
  let answer = 'SERVING';
  const network: Partial<ProbeNetwork> = {
    grpcHealth: ({ host, port, service }) => {
      asked.push([host.slice(0, 3), port, service]);
      return Promise.resolve({ status: answer });
    },
  };
  const probe = (grpc: Probe['grpc']): Probe => ({ ...(grpc && { grpc }), periodSeconds: 1, failureThreshold: 1 });
  const pod = await podOf({ readinessProbe: probe({ port: 7, service: 'db' }) }, network).run(2);
  assert.deepEqual([asked[0], pod.container('main').ready], [['10.', 7, 'db'], true]);
  for (const status of ['NOT_SERVING', 'UNKNOWN', 'SERVICE_UNKNOWN']) {
    answer = status;
    await pod.run(2);
    assert.equal(pod.container('main').ready, false, status);
    answer = 'SERVING';
    await pod.run(2);
    assert.equal(pod.container('main').ready, true);
  }
  await pod.stop();
  asked.length = 0;
  const whole = await podOf({ readinessProbe: probe({ port: 7 }) }, network).run(1);
  assert.deepEqual(asked[0], ['10.', 7, '']);
  await whole.stop();
});

test('[PROBE-01] a container that has ended is not probed any more', async () => {
  const readinessProbe = { exec: { command: ['exit-after', '0', '0'] }, periodSeconds: 2 };
  const containers = [app('main', { command: ['exit-after', '5', '0'], readinessProbe }), app('other')];
  const pod = await new VirtualPod({ restartPolicy: 'Never', containers }).run(30);
  assert.deepEqual(
    pod.commands.map(({ at }) => at),
    [0, 2, 4],
  );
  await pod.stop();
});

test('[PROBE-08] [PROBE-09] [PROBE-12] without probes a container is started and ready as soon as it runs, and is not killed', async () => {
  const pod = await new VirtualPod({ containers: [app('main')] }).run(600);
  const { ready, started, restartCount } = pod.container('main');
  assert.deepEqual([ready, started, restartCount, pod.stops], [true, true, 0, []]);
  assert.equal(pod.condition('Ready')?.lastTransitionTime, '2026-01-01T00:00:00Z');
  await pod.stop();
});

test('[PROBE-06] a TCP probe succeeds when the port is open', async () => {
  const web = server();
  const pod = await podOf({ readinessProbe: tcp({ periodSeconds: 1, failureThreshold: 1 }) }, web.network).run(2);
  assert.equal(pod.container('main').ready, true);
  web.isOpen = false;
  await pod.run(2);
  assert.equal(pod.container('main').ready, false);
  await pod.stop();
});

test('[PROBE-01] [PROBE-03] a command probe runs in the container again and again, and exit code 0 is success', async () => {
  const command = ['exit-after', '0', '0'];
  const pod = await podOf({ readinessProbe: { exec: { command }, periodSeconds: 10 } }, {}).run(35);
  assert.deepEqual(
    pod.commands.map(({ at }) => at),
    [0, 10, 20, 30],
  );
  assert.equal(pod.container('main').ready, true);
  await pod.stop();
  const failing = { exec: { command: ['exit-after', '0', '1'] }, periodSeconds: 10 };
  const other = await podOf({ readinessProbe: failing }, {}).run(35);
  assert.equal(other.container('main').ready, false);
  await other.stop();
});

test('[PROBE-07] a probe that could not run is retried, reported, and changes nothing', async () => {
  let fault: Error | undefined;
  let asked = 0;
  const pod = new VirtualPod(
    {
      restartPolicy: 'Never',
      containers: [app('main', { livenessProbe: tcp({ periodSeconds: 1, failureThreshold: 1 }) })],
    },
    {
      connect: () => {
        asked += 1;
        return fault === undefined ? Promise.resolve() : Promise.reject(fault);
      },
    },
  );
  await pod.run(3.5);
  fault = new RuntimeError('Unavailable', 'nobody answers at the runtime');
  asked = 0;
  await pod.run(60);
  assert.deepEqual([asked, pod.stops], [180, []], 'three times in each of 60 rounds');
  const text = 'Liveness probe errored and resulted in unknown state: nobody answers at the runtime';
  assert.ok(pod.said('Unhealthy').every(({ message }) => message === text));
  fault = new Error('connection refused');
  await pod.run(1);
  assert.equal(pod.stops.length, 1);
  await pod.stop();
});

test('[PROBE-07] an unknown port name is not a probe result of the container', async () => {
  const livenessProbe = { tcpSocket: { port: 'nowhere' }, periodSeconds: 1, failureThreshold: 1 };
  const pod = await new VirtualPod({ containers: [app('main', { livenessProbe })] }).run(30);
  assert.deepEqual(pod.stops, []);
  assert.match(pod.said('Unhealthy')[0]?.message ?? '', /unknown state: couldn't find port "nowhere"/);
  await pod.stop();
});

test('[PROBE-10] [PROBE-14] a container is not ready before its first success, becomes ready, and loses readiness without a restart', async () => {
  const web = server();
  const pod = await podOf({ readinessProbe: http({ initialDelaySeconds: 20 }) }, web.network).run(19);
  assert.deepEqual([pod.container('main').ready, web.asked, pod.condition('Ready')?.status], [false, [], 'False']);
  await pod.run(2);
  assert.deepEqual([pod.container('main').ready, pod.condition('Ready')?.status], [true, 'True']);
  web.status = 500;
  await pod.run(15);
  const { ready, restartCount } = pod.container('main');
  assert.deepEqual([ready, restartCount, pod.condition('Ready')?.reason], [false, 0, 'ContainersNotReady']);
  web.status = 200;
  await pod.run(6);
  assert.equal(pod.container('main').ready, true);
  await pod.stop();
});

test('[PROBE-11] [PROBE-16] [PROBE-18] [SIDE-06] until the startup probe succeeds no other probe runs', async () => {
  const web = server();
  web.isOpen = false;
  const startupProbe = tcp({ periodSeconds: 10, failureThreshold: 30 });
  const pod = await podOf({ startupProbe, readinessProbe: http(), livenessProbe: http() }, web.network).run(95);
  assert.deepEqual([web.asked, pod.container('main').started, pod.container('main').restartCount], [[], false, 0]);
  web.isOpen = true;
  await pod.run(6);
  assert.deepEqual([pod.container('main').started, pod.container('main').ready], [true, true]);
  assert.equal(web.asked.length, 2, 'both kinds, from then on');
  await pod.stop();
});

test('[PROBE-12] [PROBE-16] a startup that takes too long kills the container after threshold times period', async () => {
  const web = server();
  web.isOpen = false;
  const pod = podOf({ startupProbe: tcp({ initialDelaySeconds: 7, periodSeconds: 10 }) }, web.network);
  await pod.run(26);
  assert.deepEqual(pod.stops, []);
  await pod.run(3);
  assert.deepEqual(pod.stops, [{ container: 'main', graceSeconds: 30, at: 27 }]);
  assert.deepEqual(
    pod.said('Killing').map(({ message }) => message),
    ['Container main failed startup probe, will be restarted'],
  );
  assert.equal(pod.container('main').restartCount, 1);
  await pod.stop();
});

test('[PROBE-08] [PROBE-13] [PROBE-18] a failed liveness probe kills the container; its policy decides about a restart', async () => {
  for (const [restartPolicy, count, phase] of [
    ['Always', 1, 'Running'],
    ['OnFailure', 1, 'Running'],
    ['Never', 0, 'Failed'],
  ] as const) {
    const web = server();
    const pod = await podOf({ livenessProbe: http() }, web.network, { restartPolicy }).run(3);
    assert.equal(pod.container('main').started, true);
    web.status = 500;
    await pod.run(17);
    assert.deepEqual(pod.stops, [{ container: 'main', graceSeconds: 30, at: 15 }], restartPolicy);
    assert.deepEqual(
      pod
        .said('Unhealthy')
        .slice(0, 3)
        .map(({ at, type, message, fieldPath }) => [at, type, message, fieldPath]),
      [5, 10, 15].map((at) => [
        at,
        'Warning',
        'Liveness probe failed: HTTP probe failed with statuscode: 500',
        'spec.containers{main}',
      ]),
      restartPolicy,
    );
    assert.equal(pod.said('Killing')[0]?.message, 'Container main failed liveness probe, will be restarted');
    assert.deepEqual([pod.container('main').restartCount, pod.status.phase], [count, phase], restartPolicy);
    await pod.stop();
  }
});

test('[PROBE-15] readiness and liveness are counted separately, also on the same endpoint', async () => {
  const web = server();
  const probes = { readinessProbe: http({ failureThreshold: 1 }), livenessProbe: http({ failureThreshold: 4 }) };
  const pod = await podOf(probes, web.network).run(3);
  web.status = 500;
  await pod.run(5);
  assert.deepEqual([pod.container('main').ready, pod.stops], [false, []]);
  await pod.run(13);
  assert.equal(pod.stops.length, 1);
  await pod.stop();
});

test('[TERM-52] while a pod terminates only its readiness is probed', async () => {
  const asked = { ready: 0, live: 0 };
  const network: Partial<ProbeNetwork> = {
    httpGet: ({ url }) => {
      asked[url.endsWith('/ready') ? 'ready' : 'live'] += 1;
      return Promise.resolve({ status: url.endsWith('/ready') ? 200 : 500 });
    },
  };
  const live = { httpGet: { port: 80, path: '/live' }, periodSeconds: 5, failureThreshold: 100 };
  const pod = podOf({ command: ['stop-after', '20'], readinessProbe: http(), livenessProbe: live }, network);
  await pod.run(12);
  const before = { ...asked };
  assert.deepEqual(before, { ready: 3, live: 3 });
  pod.remove(60);
  await pod.run(18);
  assert.deepEqual(asked, { ready: before.ready + 4, live: before.live });
  assert.equal(pod.container('main').ready, true);
  await pod.stop();
});

test('[PROBE-16] with any server behaviour, a container lives as long as its probe allows and not a period longer', async () => {
  const answers = fc.array(fc.boolean(), { minLength: 30, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(
      answers,
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 7 }),
      async (good, threshold, period) => {
        let round = 0;
        const network: Partial<ProbeNetwork> = {
          connect: () => (good[round++] === true ? Promise.resolve() : Promise.reject(new Error('refused'))),
        };
        const livenessProbe = tcp({ periodSeconds: period, failureThreshold: threshold });
        const pod = await podOf({ livenessProbe }, network, { restartPolicy: 'Never' }).run(period * 29.5);
        let bad = 0;
        const killedIn = good.findIndex((each) => {
          bad = each ? 0 : bad + 1;
          return bad === threshold;
        });
        assert.deepEqual(
          pod.stops.map(({ at }) => at),
          killedIn < 0 ? [] : [killedIn * period],
        );
        await pod.stop();
      },
    ),
    { numRuns: 50 },
  );
});

test('/metrics/probes: probe results of a pod are counted under the kubelet names, until it is gone', async () => {
  const web = server();
  const probes = { livenessProbe: tcp({ periodSeconds: 10 }), readinessProbe: http({ periodSeconds: 5 }) };
  const pod = await podOf(probes, web.network).run(1);
  await pod.run(10);
  web.status = 500;
  await pod.run(5);
  const of = 'container="main",pod="p",namespace="default",pod_uid="u1"';
  const counted = (text: string): readonly string[] =>
    text.split('\n').filter((line) => line.startsWith('prober_probe_total{'));
  assert.deepEqual(counted(pod.probeMetrics.render()).toSorted(), [
    `prober_probe_total{probe_type="Liveness",result="successful",${of}} 2`,
    `prober_probe_total{probe_type="Readiness",result="failed",${of}} 1`,
    `prober_probe_total{probe_type="Readiness",result="successful",${of}} 3`,
  ]);
  assert.match(
    pod.probeMetrics.render(),
    /^prober_probe_duration_seconds_count\{probe_type="Readiness",container="main",pod="p",namespace="default"\} 4$/m,
  );
  pod.vanish();
  await pod.run(60);
  assert.deepEqual(counted(pod.probeMetrics.render()), []);
  await pod.stop();
});

/** The pod's responses by URL without its host; a redirect is its target. */
function redirecting(answers: Readonly<Record<string, number | string>>) {
  const asked: { readonly url: string; readonly host: string | undefined }[] = [];
  const network: Partial<ProbeNetwork> = {
    httpGet: ({ url, headers }) => {
      asked.push({ url, host: headers['host'] });
      const found = new Map(Object.entries(answers)).get(url.replace(/^http:\/\/[^/]*/, '')) ?? 404;
      const answer =
        typeof found === 'number' ? { status: found } : { status: 302, location: found, body: 'see there' };
      return Promise.resolve(answer);
    },
  };
  return { network, asked };
}

test('[PROBE-05] an HTTP probe follows redirects within its host, ten at most, and judges the last answer', async () => {
  const good = redirecting({ '/ready': '/two?x=1', '/two?x=1': 'three', '/three': 204 });
  const probe = http({ httpGet: { port: 80, path: '/ready', httpHeaders: [{ name: 'Host', value: 'web.example' }] } });
  const pod = await podOf({ readinessProbe: probe }, good.network).run(2);
  assert.equal(pod.condition('Ready')?.status, 'True');
  assert.deepEqual(
    good.asked.slice(0, 3).map(({ url, host }) => [new URL(url).pathname, host]),
    [
      ['/ready', 'web.example'],
      ['/two', 'web.example'],
      ['/three', 'web.example'],
    ],
  );
  assert.deepEqual(pod.said('ProbeWarning'), []);
  const bad = await podOf({ readinessProbe: http() }, redirecting({ '/ready': '/two', '/two': 500 }).network).run(2);
  assert.match(bad.said('Unhealthy')[0]?.message ?? '', /HTTP probe failed with statuscode: 500/);
  const endless = redirecting({ '/ready': '/ready' });
  const lost = await podOf({ readinessProbe: http() }, endless.network).run(2);
  assert.equal(endless.asked.length, 10);
  assert.match(lost.said('Unhealthy')[0]?.message ?? '', /stopped after 10 redirects/);
  for (const each of [pod, bad, lost]) await each.stop();
});

test('[PROBE-05] a redirect to another host is not followed: a success, with a warning', async () => {
  for (const elsewhere of ['http://192.0.2.99/login', 'https://login.example/']) {
    const { network, asked } = redirecting({ '/ready': elsewhere });
    const pod = await podOf({ readinessProbe: http() }, network).run(2);
    assert.equal(pod.condition('Ready')?.status, 'True');
    assert.equal(asked.length, 1);
    const [warning] = pod.said('ProbeWarning');
    assert.equal(warning?.type, 'Warning');
    assert.equal(warning.message, 'Readiness probe warning: Probe terminated redirects, Response body: see there');
    assert.deepEqual(pod.said('Unhealthy'), []);
    await pod.stop();
  }
});
