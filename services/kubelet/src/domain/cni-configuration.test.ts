import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cniConfiguration, isCniFile } from './cni-configuration.ts';

interface Configuration {
  readonly name: string;
  readonly plugins: readonly { readonly type: string; readonly ipam?: object; readonly capabilities?: object }[];
}

const read = (networks: readonly string[]): Configuration => JSON.parse(cniConfiguration(networks)) as Configuration;

test('containers get addresses of the network of their node, one of each family, and host ports', () => {
  const { name, plugins } = read(['10.244.1.0/24', 'fd00:1::/64']);
  assert.equal(name, 'holdfast');
  assert.deepEqual(
    plugins.map(({ type }) => type),
    ['bridge', 'portmap'],
  );
  assert.deepEqual(plugins[0]?.ipam, {
    type: 'host-local',
    ranges: [[{ subnet: '10.244.1.0/24' }], [{ subnet: 'fd00:1::/64' }]],
    routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
  });
  assert.deepEqual(plugins[1]?.capabilities, { portMappings: true });
});

test('the networks of several nodes are parts of one subnet, behind the one address of the bridge', () => {
  const range = (subnet: string, rangeStart: string, rangeEnd: string, gateway: string) => ({
    subnet,
    rangeStart,
    rangeEnd,
    gateway,
  });
  for (const [networks, ranges] of [
    [
      ['10.244.2.0/24', '10.244.0.0/24'],
      [
        range('10.244.0.0/22', '10.244.2.1', '10.244.2.254', '10.244.2.1'),
        range('10.244.0.0/22', '10.244.0.1', '10.244.0.254', '10.244.2.1'),
      ],
    ],
    [
      ['10.0.0.0/26', '10.0.0.64/26', '10.255.0.0/26'],
      [
        range('10.0.0.0/8', '10.0.0.1', '10.0.0.62', '10.0.0.1'),
        range('10.0.0.0/8', '10.0.0.65', '10.0.0.126', '10.0.0.1'),
        range('10.0.0.0/8', '10.255.0.1', '10.255.0.62', '10.0.0.1'),
      ],
    ],
  ] as const)
    assert.deepEqual((read(networks).plugins[0]?.ipam as { readonly ranges: unknown } | undefined)?.ranges, [ranges]);
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
