import { strict as assert } from 'node:assert';
import { after, before, test } from 'node:test';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

let api: TestApi;
before(async () => {
  api = await startTestApi();
});
after(() => api.stop());

const PODS = '/api/v1/namespaces/default/pods';

const podWith = (spec: string): string =>
  `{"metadata":{"name":"odd"},"spec":{${spec},"containers":[{"name":"c","image":"i"}]}}`;

test('64-bit integers keep their written form, in lists too', async () => {
  const field = (number: string, path: string): string =>
    `Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number ${number} into Go struct field ${path} of type int64`;
  const grace = 'PodSpec.spec.terminationGracePeriodSeconds';
  const groups = 'PodSecurityContext.spec.securityContext.supplementalGroups';
  const cases: readonly (readonly [spec: string, message: string | undefined])[] = [
    ['"terminationGracePeriodSeconds":9223372036854775807', undefined],
    ['"terminationGracePeriodSeconds":9223372036854775808', field('9223372036854775808', grace)],
    ['"terminationGracePeriodSeconds":99999999999999999999', field('99999999999999999999', grace)],
    ['"terminationGracePeriodSeconds":1e400', field('1e400', grace)],
    ['"securityContext":{"supplementalGroups":[1]}', undefined],
    ['"securityContext":{"supplementalGroups":[1.0]}', field('1.0', groups)],
    ['"securityContext":{"supplementalGroups":[5, 1e3]}', field('1e3', groups)],
  ];
  for (const [spec, message] of cases) {
    const answer = await api.call('POST', `${PODS}?dryRun=All`, { body: podWith(spec) });
    assert.deepEqual([answer.status, answer.at('message')], [message === undefined ? 201 : 400, message], spec);
  }
});

test('a merge patch writes integers as integers', async () => {
  const url = '/apis/apps/v1/namespaces/default/deployments';
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const body = { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } };
  assert.equal((await api.call('POST', url, { body })).status, 201);
  const headers = { 'content-type': 'application/merge-patch+json' };
  const patched = async (patch: string): Promise<unknown> => {
    const answer = await api.call('PATCH', `${url}/d?dryRun=All`, { headers, body: patch });
    if (answer.status === 200) return answer.at('spec.replicas');
    return `${answer.status} ${/json: .*/.exec(answer.textAt('message'))?.[0]}`;
  };
  const refused = (number: string): string =>
    `422 json: cannot unmarshal number ${number} into Go struct field DeploymentSpec.spec.replicas of type int32`;
  assert.equal(await patched('{"spec":{"replicas":4}}'), 4);
  assert.equal(await patched('{"spec":{"replicas":4.0}}'), refused('4.0'));
  assert.equal(await patched('{"spec":{"replicas":1e1}}'), refused('1e1'));
});
