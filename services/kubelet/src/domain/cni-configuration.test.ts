import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cniConfiguration, isCniFile } from './cni-configuration.ts';

interface Configuration {
  readonly name: string;
  readonly plugins: readonly { readonly type: string; readonly ipam?: object; readonly capabilities?: object }[];
}

const read = (networks: readonly string[]): Configuration => JSON.parse(cniConfiguration(networks)) as Configuration;

test('containers get addresses of the networks of their nodes, one of each family, and host ports', () => {
  const { name, plugins } = read(['10.244.1.0/24', 'fd00:1::/64', '10.244.2.0/24']);
  assert.equal(name, 'holdfast');
  assert.deepEqual(
    plugins.map(({ type }) => type),
    ['bridge', 'portmap'],
  );
  assert.deepEqual(plugins[0]?.ipam, {
    type: 'host-local',
    ranges: [[{ subnet: '10.244.1.0/24' }, { subnet: '10.244.2.0/24' }], [{ subnet: 'fd00:1::/64' }]],
    routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
  });
  assert.deepEqual(plugins[1]?.capabilities, { portMappings: true });
});

test('other files of the directory are no configurations', () => {
  assert.deepEqual(['a.conf', 'b.conflist', 'c.json', 'd.conflist.bak', 'README', 'conf'].map(isCniFile), [
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});
