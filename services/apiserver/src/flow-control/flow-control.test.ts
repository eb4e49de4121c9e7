import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import { type Clock, createSystemClock } from '@holdfast/platform';
import type { Store } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { until } from '../testing/custom.ts';
import { type Answer, configMapBody, startTestApi, type TestApi } from '../testing/fixture.ts';

const FLOW = '/apis/flowcontrol.apiserver.k8s.io/v1';
const MAPS = '/api/v1/namespaces/default/configmaps';
const JANE = { name: 'jane', groups: ['system:authenticated', 'writers'] };
const JOHN = { name: 'john', groups: ['system:authenticated', 'writers'] };
const NODE = { name: 'system:node:a', groups: ['system:nodes', 'system:authenticated'] };
const ADMIN = { name: 'admin', groups: ['system:masters'] };
const USERS = { jane: JANE, john: JOHN, 'node-a': NODE, admin: ADMIN };

/** Blocks writes of ConfigMaps until released. */
class Gate {
  readonly store: Store;
  #held: (() => void)[] = [];
  isOpen = true;

  constructor() {
    const memory = createMemoryStore();
    const write: Store['write'] = async (operations, ...rest) => {
      if (!this.isOpen && operations.some(({ key }) => key.includes('configmaps'))) {
        await new Promise<void>((resolve) => this.#held.push(resolve));
      }
      return memory.write(operations, ...rest);
    };
    this.store = new Proxy(memory, {
      get: (target, key) => {
        if (key === 'write') return write;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  get held(): number {
    return this.#held.length;
  }

  letOne(): void {
    this.#held.shift()?.();
  }

  open(): void {
    this.isOpen = true;
    for (const resolve of this.#held.splice(0)) resolve();
  }
}

/** Long timers fire on request. */
class Timers {
  readonly #fires = new Map<number, Set<() => void>>();
  readonly clock: Clock;

  constructor() {
    const system = createSystemClock();
    const timer: Clock['timer'] = (delayMs, fire) => {
      if (delayMs < 10_000) return system.timer(delayMs, fire);
      const fires = this.#fires.get(delayMs) ?? new Set();
      this.#fires.set(delayMs, fires.add(fire));
      return { cancel: () => void fires.delete(fire) };
    };
    this.clock = { ...system, timer };
  }

  fire(delayMs: number): void {
    const fires = [...(this.#fires.get(delayMs) ?? [])];
    this.#fires.get(delayMs)?.clear();
    for (const fire of fires) fire();
  }

  countOf(delayMs: number): number {
    return this.#fires.get(delayMs)?.size ?? 0;
  }
}

let gate: Gate;
let timers: Timers;
let api: TestApi;
beforeEach(async () => {
  gate = new Gate();
  timers = new Timers();
  api = await startTestApi({
    store: gate.store,
    clock: timers.clock,
    seats: 200,
    tokens: new Map(Object.entries(USERS)),
  });
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }];
  const RBAC = '/apis/rbac.authorization.k8s.io/v1';
  await api.call('POST', `${RBAC}/clusterroles`, { body: { metadata: { name: 'writer' }, rules } });
  const subjects = [{ kind: 'Group', name: 'writers', apiGroup: 'rbac.authorization.k8s.io' }];
  const roleRef = { kind: 'ClusterRole', name: 'writer', apiGroup: 'rbac.authorization.k8s.io' };
  await api.call('POST', `${RBAC}/clusterrolebindings`, { body: { metadata: { name: 'writer' }, subjects, roleRef } });
});
afterEach(async () => {
  gate.open();
  await api.stop();
});

const everything = (user: string, verbs = ['*']): unknown => ({
  subjects: [{ kind: 'User', user: { name: user } }],
  resourceRules: [{ verbs, apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true }],
});

/** A level of one seat and one queue, to which the writes of both users lead. */
async function narrow(queueLengthLimit = 2): Promise<void> {
  const limitResponse = { type: 'Queue', queuing: { queues: 2, handSize: 1, queueLengthLimit } };
  const limited = { nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse };
  const level = { metadata: { name: 'narrow' }, spec: { type: 'Limited', limited } };
  assert.equal((await api.call('POST', `${FLOW}/prioritylevelconfigurations`, { body: level })).status, 201);
  const spec = {
    matchingPrecedence: 50,
    priorityLevelConfiguration: { name: 'narrow' },
    rules: [everything('jane', ['create'])],
  };
  assert.equal(
    (await api.call('POST', `${FLOW}/flowschemas`, { body: { metadata: { name: 'narrow' }, spec } })).status,
    201,
  );
}

/** Seats are rounded up. */
async function oneSeat(): Promise<void> {
  const patch = { spec: { limited: { nominalConcurrencyShares: 1, lendablePercent: 0 } } };
  const answer = await api.call('PATCH', `${FLOW}/prioritylevelconfigurations/narrow`, { body: patch });
  assert.equal(answer.status, 200);
}

let sent = 0;
const create = (as: string, signal?: AbortSignal): Promise<Answer> =>
  api.call('POST', MAPS, { as, body: configMapBody(`m${sent++}`), ...(signal === undefined ? {} : { signal }) });

const dumped = async (what: string): Promise<readonly (readonly string[])[]> => {
  const { body } = await api.call('GET', `/debug/api_priority_and_fairness/${what}`);
  return String(body)
    .trim()
    .split('\n')
    .map((line) => line.split(',').map((cell) => cell.trim()));
};

const levelRow = async (name: string): Promise<readonly string[]> =>
  (await dumped('dump_priority_levels')).find(([level]) => level === name) ?? [];

const metric = async (line: string): Promise<boolean> => {
  const { body } = await api.call('GET', '/metrics');
  return String(body).split('\n').includes(line);
};

test('every answer names the schema and the level of its request, also refusals; streams have none', async () => {
  const uidOf = async (path: string): Promise<string> =>
    (await api.call('GET', `${FLOW}/${path}`)).textAt('metadata.uid');
  const headers = async (url: string, as: string): Promise<readonly (string | undefined)[]> => {
    const answer = await api.call('GET', url, { as });
    const { 'x-kubernetes-pf-flowschema-uid': schema, 'x-kubernetes-pf-prioritylevel-uid': level } = answer.headers;
    return [schema, level];
  };
  const common = [await uidOf('flowschemas/global-default'), await uidOf('prioritylevelconfigurations/global-default')];
  assert.deepEqual(await headers(MAPS, 'jane'), common);
  assert.deepEqual(await headers('/api/v1/secrets', 'jane'), common);
  assert.deepEqual(await headers('/nothing', 'jane'), common);
  const exempt = [await uidOf('flowschemas/probes'), await uidOf('prioritylevelconfigurations/exempt')];
  assert.deepEqual(await headers('/livez', 'jane'), exempt);
  assert.deepEqual(await headers('/api/v1/namespaces/default/pods/p/log', 'admin'), [undefined, undefined]);
});

test('a request to a full level waits, and a request to a full queue gets a plain-text 429', async () => {
  await narrow();
  await oneSeat();
  gate.isOpen = false;
  const answers = Array.from({ length: 3 }, () => create('jane'));
  const refused = await create('jane');
  assert.equal(refused.status, 429);
  assert.equal(refused.body, 'Too many requests, please try again later.\n');
  assert.equal(refused.headers['retry-after'], '1');
  assert.equal(refused.headers['content-type'], 'text/plain; charset=utf-8');
  assert.ok(refused.headers['x-kubernetes-pf-prioritylevel-uid'] !== undefined);
  await until(async () => gate.held === 1);
  assert.deepEqual((await levelRow('narrow')).slice(1), ['1', 'false', 'false', '2', '1', '1', '1', '0', '0']);
  // Others are not blocked.
  assert.equal((await api.call('GET', MAPS, { as: 'john' })).status, 200);
  gate.open();
  assert.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    [201, 201, 201],
  );
  const labels = 'flow_schema="narrow",priority_level="narrow"';
  assert.ok(await metric(`apiserver_flowcontrol_rejected_requests_total{${labels},reason="queue-full"} 1`));
  assert.ok(await metric(`apiserver_flowcontrol_dispatched_requests_total{${labels}} 3`));
  assert.ok(await metric(`apiserver_flowcontrol_current_executing_requests{${labels}} 0`));
  assert.ok(await metric(`apiserver_flowcontrol_request_wait_duration_seconds_count{execute="true",${labels}} 3`));
});

test('metrics report the use of every level as a share of its limit', async () => {
  await create('jane');
  const names = [
    'priority_level_seat_utilization_count{phase="executing",priority_level="exempt"}',
    'priority_level_request_utilization_count{phase="executing",priority_level="global-default"}',
    'priority_level_request_utilization_bucket{phase="waiting",priority_level="global-default",le="0.25"}',
    'demand_seats_bucket{priority_level="global-default",le="+Inf"}',
    'read_vs_write_current_requests_sum{phase="executing",request_kind="mutating"}',
    'seat_fair_frac',
  ];
  const text = String((await api.call('GET', '/metrics')).body);
  for (const name of names) assert.ok(text.includes(`\napiserver_flowcontrol_${name} `), name);
});

/** Requests that were turned away because there were too many. */
async function terminations(): Promise<number> {
  const text = String((await api.call('GET', '/metrics')).body);
  return Number(/^apiserver_request_terminations_total\{component="apiserver",code="429"\} (\d+)$/m.exec(text)?.[1]);
}

test('a wait ends at its timeout and when its client disconnects; the slot is freed', async () => {
  await narrow();
  await oneSeat();
  gate.isOpen = false;
  const before = await terminations();
  const first = create('jane');
  const late = create('jane');
  const leaving = new AbortController();
  const gone = create('jane', leaving.signal);
  await until(async () => (await levelRow('narrow'))[4] === '2');
  const requests = (await dumped('dump_requests')).filter(([level]) => level === 'narrow');
  assert.deepEqual(
    requests.map((row) => row[3]),
    ['-1', '0', '1'],
  );
  leaving.abort();
  assert.equal((await gone).status, 429);
  assert.equal((await create('jane', AbortSignal.abort())).status, 429);
  timers.fire(15_000);
  assert.equal((await late).status, 429);
  assert.equal(timers.countOf(15_000), 0);
  const labels = 'flow_schema="narrow",priority_level="narrow"';
  assert.ok(await metric(`apiserver_flowcontrol_rejected_requests_total{${labels},reason="time-out"} 1`));
  assert.ok(await metric(`apiserver_flowcontrol_rejected_requests_total{${labels},reason="cancelled"} 2`));
  assert.equal((await terminations()) - before, 1, 'who leaves is not turned away');
  const next = create('jane');
  gate.open();
  assert.deepEqual([(await first).status, (await next).status], [201, 201]);
});

test('a level without seats queues requests until it gets some', async () => {
  await narrow();
  const held = create('jane');
  await until(async () => (await levelRow('narrow'))[4] === '1');
  await oneSeat();
  // A change takes effect with the next request.
  await api.call('GET', MAPS);
  assert.equal((await held).status, 201);
});

test('a level that has lent all its seats gets some back for its queue without another event', async () => {
  await narrow();
  const patch = { spec: { limited: { nominalConcurrencyShares: 100, lendablePercent: 100 } } };
  await api.call('PATCH', `${FLOW}/prioritylevelconfigurations/narrow`, { body: patch });
  const held = create('jane');
  await until(async () => (await levelRow('narrow'))[4] === '1');
  timers.fire(10_000);
  assert.equal((await held).status, 201);
  assert.equal(timers.countOf(10_000), 0);
});

test('a deleted level keeps its requests until they finish, and new requests go to other levels', async () => {
  await narrow();
  await oneSeat();
  gate.isOpen = false;
  const held = create('jane');
  await until(async () => gate.held === 1);
  await api.call('DELETE', `${FLOW}/prioritylevelconfigurations/narrow`);
  assert.equal((await levelRow('narrow'))[3], 'true');
  const elsewhere = create('jane');
  await until(async () => gate.held === 2);
  gate.open();
  assert.deepEqual([(await held).status, (await elsewhere).status], [201, 201]);
  assert.deepEqual(await levelRow('narrow'), []);
});

test('the seats of a busy deleted level return to the others in the end', async () => {
  const seatsOf = async (name: string): Promise<string | undefined> => {
    const { body } = await api.call('GET', '/metrics');
    const line = `apiserver_flowcontrol_nominal_limit_seats{priority_level="${name}"} `;
    return String(body)
      .split('\n')
      .find((each) => each.startsWith(line))
      ?.slice(line.length);
  };
  await api.call('GET', MAPS);
  const before = await seatsOf('workload-low');
  await narrow();
  const patch = { spec: { limited: { nominalConcurrencyShares: 2_000 } } };
  await api.call('PATCH', `${FLOW}/prioritylevelconfigurations/narrow`, { body: patch });
  gate.isOpen = false;
  const held = create('jane');
  await until(async () => gate.held === 1);
  await api.call('DELETE', `${FLOW}/prioritylevelconfigurations/narrow`);
  assert.notEqual(await seatsOf('workload-low'), before);
  gate.open();
  assert.equal((await held).status, 201);
  assert.equal(await seatsOf('workload-low'), before);
});

test('the status of a schema reports whether its level exists', async () => {
  const dangling = async (): Promise<string> =>
    (await api.call('GET', `${FLOW}/flowschemas/narrow`)).textAt('status.conditions.0.status');
  const spec = { priorityLevelConfiguration: { name: 'narrow' }, matchingPrecedence: 7 };
  await api.call('POST', `${FLOW}/flowschemas`, { body: { metadata: { name: 'narrow' }, spec } });
  await until(async () => (await dangling()) === 'True');
  const limited = { limitResponse: { type: 'Reject' } };
  const level = { metadata: { name: 'narrow' }, spec: { type: 'Limited', limited } };
  await api.call('POST', `${FLOW}/prioritylevelconfigurations`, { body: level });
  await until(async () => (await dangling()) === 'False');
  await api.call('DELETE', `${FLOW}/prioritylevelconfigurations/narrow`);
  await until(async () => (await dangling()) === 'True');
});

test('mandatory objects are restored within a minute; annotated changes of a suggested object stay', async () => {
  const status = async (path: string): Promise<number> => (await api.call('GET', `${FLOW}/${path}`)).status;
  for (const path of ['flowschemas/probes', 'flowschemas/catch-all', 'prioritylevelconfigurations/workload-low']) {
    assert.equal((await api.call('DELETE', `${FLOW}/${path}`)).status, 200);
    assert.equal(await status(path), 404);
  }
  const GLOBAL = `${FLOW}/flowschemas/global-default`;
  await api.call('PATCH', GLOBAL, { body: { spec: { matchingPrecedence: 9_800 } } });
  const own = { metadata: { annotations: { 'apf.kubernetes.io/autoupdate-spec': 'false' } } };
  await api.call('PATCH', `${FLOW}/flowschemas/service-accounts`, {
    body: { ...own, spec: { matchingPrecedence: 8_999 } },
  });
  const old = { name: 'of-another-version', annotations: { 'apf.kubernetes.io/autoupdate-spec': 'true' } };
  const spec = { priorityLevelConfiguration: { name: 'system' }, matchingPrecedence: 7 };
  await api.call('POST', `${FLOW}/flowschemas`, { body: { metadata: old, spec } });
  timers.fire(55_000);
  for (const path of ['flowschemas/probes', 'flowschemas/catch-all', 'prioritylevelconfigurations/workload-low']) {
    await until(async () => (await status(path)) === 200);
  }
  await until(async () => (await api.call('GET', GLOBAL)).at('spec.matchingPrecedence') === 9_900);
  await until(async () => (await status('flowschemas/of-another-version')) === 404);
  const kept = await api.call('GET', `${FLOW}/flowschemas/service-accounts`);
  assert.equal(kept.at('spec.matchingPrecedence'), 8_999);
});

test('a start restores mandatory objects and keeps user-maintained ones', async () => {
  const AUTO = 'apf.kubernetes.io/autoupdate-spec';
  const patch = { metadata: { annotations: { [AUTO]: 'false' } }, spec: { matchingPrecedence: 9_000 } };
  await api.call('PATCH', `${FLOW}/flowschemas/global-default`, { body: patch });
  await api.call('PATCH', `${FLOW}/flowschemas/exempt`, { body: { metadata: { annotations: { [AUTO]: 'false' } } } });
  await api.server.stop();
  const second = await startTestApi({ store: gate.store, clock: timers.clock });
  const mine = await second.call('GET', `${FLOW}/flowschemas/global-default`);
  assert.equal(mine.at('spec.matchingPrecedence'), 9_000);
  const exempt = await second.call('GET', `${FLOW}/flowschemas/exempt`);
  assert.deepEqual(exempt.at('metadata.annotations'), { [AUTO]: 'true' });
  await second.server.stop();
});

test('the table of schemas is in matching order', async () => {
  const answer = await api.call('GET', `${FLOW}/flowschemas`, {
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
  });
  const rows = answer.at('rows') as { cells: unknown[] }[];
  assert.deepEqual(
    rows.map(({ cells }) => cells[2]),
    [1, 2, 100, 150, 200, 400, 500, 800, 800, 900, 9_000, 9_900, 10_000],
  );
});

test('a node request is answered before most of 500 earlier requests of a user', async () => {
  // Every look at the clock takes a while: so a turn is over after the same number of requests on any machine.
  let now = 0;
  const clock: Clock = { ...createSystemClock(), monotonic: () => (now += 0.2) };
  const busy = await startTestApi({ clock, tokens: new Map(Object.entries(USERS)) });
  let answered = 0;
  let refused = 0;
  const greed = Array.from({ length: 500 }, async () => {
    const { status } = await busy.call('GET', '/version', { as: 'jane' });
    answered += 1;
    if (status === 429) refused += 1;
  });
  const heartbeat = await busy.call('GET', '/version', { as: 'node-a' });
  const before = answered - refused;
  assert.equal(heartbeat.status, 200);
  await Promise.all(greed);
  await busy.stop();
  assert.ok(before < 100, `${before} requests were served first`);
  assert.ok(refused > 0 && refused < 300, `${refused} requests were turned away`);
});
