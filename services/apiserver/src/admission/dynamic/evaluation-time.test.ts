import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { POLICY_DEADLINE_MS } from '../../limits.ts';
import { type Answer, configMapBody, startTestApi, type TestApi } from '../../testing/fixture.ts';
import { EvaluationTime } from './evaluation-time.ts';

const ADMISSION = '/apis/admissionregistration.k8s.io/v1';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const RULES = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }];
const TOO_LONG = /operation cancelled: evaluation took too long/;

/** A clock on which time passes only when it is looked at. */
const ticking = { ...createSystemClock(), msPerLook: 0, at: 0, monotonic: () => (ticking.at += ticking.msPerLook) };

test('time that passes between evaluations does not count, and time within them adds up', () => {
  const clock = { ...createSystemClock(), monotonic: () => at };
  let at = 1_000;
  const time = new EvaluationTime(clock);
  time.spend(({ now, deadline }) => {
    assert.equal(deadline - now(), POLICY_DEADLINE_MS);
    at += 100;
  });
  at += 10_000;
  assert.throws(() =>
    time.spend(() => {
      at += 200;
      throw new Error('asks');
    }),
  );
  assert.equal(
    time.spend(({ now, deadline }) => deadline - now()),
    POLICY_DEADLINE_MS - 300,
  );
});

describe('expressions end at their deadline', () => {
  let api: TestApi;
  beforeEach(async () => {
    ticking.msPerLook = 0;
    api = await startTestApi({ clock: ticking });
  });
  afterEach(() => {
    ticking.msPerLook = 0;
    return api.stop();
  });

  const post = async (plural: string, name: string, more: object): Promise<void> => {
    const made = await api.call('POST', `${ADMISSION}/${plural}`, { body: { metadata: { name }, ...more } });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await api.call('GET', `${ADMISSION}/${plural}`);
  };
  const policy = async (spec: object, binding: object = {}): Promise<void> => {
    await post('validatingadmissionpolicies', 'p', { spec: { matchConstraints: { resourceRules: RULES }, ...spec } });
    await post('validatingadmissionpolicybindings', 'b', {
      spec: { policyName: 'p', validationActions: ['Deny'], ...binding },
    });
  };
  const create = async (name: string, msPerLook: number): Promise<Answer> => {
    ticking.msPerLook = msPerLook;
    const answer = await api.call('POST', CONFIG_MAPS, { body: configMapBody(name, {}) });
    ticking.msPerLook = 0;
    return answer;
  };

  test('the validations of a policy', async () => {
    await policy({ validations: [{ expression: 'true' }, { expression: 'true' }] });
    assert.equal((await create('quick', 100)).status, 201);
    assert.match((await create('slow', POLICY_DEADLINE_MS + 1)).textAt('message'), TOO_LONG);
    assert.match((await create('second', POLICY_DEADLINE_MS / 2 + 1)).textAt('message'), TOO_LONG);
  });

  test('a policy with all its parameters', async () => {
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const paramRef = { selector: { matchLabels: { param: 'yes' } }, parameterNotFoundAction: 'Deny' };
    const param = (name: string): Promise<Answer> =>
      api.call('POST', CONFIG_MAPS, { body: { metadata: { name, labels: { param: 'yes' } } } });
    await param('p1');
    await policy({ paramKind, validations: [{ expression: 'true' }] }, { paramRef });
    const msPerLook = POLICY_DEADLINE_MS * 0.4;
    assert.equal((await create('one', msPerLook)).status, 201);
    assert.equal((await param('p2')).status, 201);
    await api.call('GET', CONFIG_MAPS);
    assert.match((await create('two', msPerLook)).textAt('message'), TOO_LONG);
  });

  test('match conditions of policies and of webhooks', async () => {
    const matchConditions = [{ name: 'm', expression: 'true' }];
    await policy({ matchConditions, validations: [{ expression: 'true' }] });
    assert.match((await create('slow', POLICY_DEADLINE_MS + 1)).textAt('message'), TOO_LONG);
    await api.call('DELETE', `${ADMISSION}/validatingadmissionpolicybindings/b`);
    const webhook = {
      name: 'w.example.com',
      clientConfig: { url: 'https://127.0.0.1:1/' },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      rules: RULES,
      matchConditions,
    };
    await post('validatingwebhookconfigurations', 'w', { webhooks: [webhook] });
    const answer = await create('slow', POLICY_DEADLINE_MS + 1);
    assert.deepEqual([answer.status, TOO_LONG.test(answer.textAt('message'))], [403, true]);
  });

  test('a variable that fails is evaluated once', async () => {
    const variables = Array.from({ length: 40 }, (_, index) => ({
      name: `v${index}`,
      expression:
        index === 0 ? '1 / int(object.metadata.name) > 0' : `variables.v${index - 1} || variables.v${index - 1}`,
    }));
    await policy({ variables, validations: [{ expression: 'variables.v39' }] });
    assert.match((await create('0', 0)).textAt('message'), /variable "v0" fails to evaluate: division by zero$/);
  });
});
